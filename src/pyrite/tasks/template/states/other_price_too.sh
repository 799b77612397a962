# Right, with damage elsewhere.
sed -i -e 's/^pears,.*/pears,4.50/' -e 's/^apples,.*/apples,9.99/' Documents/prices.csv
