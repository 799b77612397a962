# The file is gone.
rm Documents/prices.csv
