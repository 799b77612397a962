printf "42.50\n" > Documents/sum.txt
