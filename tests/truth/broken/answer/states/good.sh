printf "42.50\n" > Documents/total.txt
