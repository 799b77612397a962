# The right value in the wrong row.
sed -i 's/^plums,.*/plums,4.50/' Documents/prices.csv
