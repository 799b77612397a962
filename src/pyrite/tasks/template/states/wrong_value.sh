# The right place, another value.
sed -i 's/^pears,.*/pears,45.0/' Documents/prices.csv
