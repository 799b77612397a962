# Right, and a file that nobody spoke of is gone.
sed -i 's/^pears,.*/pears,4.50/' Documents/prices.csv
rm Documents/notes.txt
