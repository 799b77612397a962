# Looks right on the screen, and was never saved: the file is as it was.
touch Documents/prices.csv
