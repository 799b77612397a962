# A known-good end state: runs on a copy of the initial home. TASK names the task folder.
sed -i 's/^pears,.*/pears,4.50/' Documents/prices.csv
