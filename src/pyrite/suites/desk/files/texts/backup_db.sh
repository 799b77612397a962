#!/bin/sh
# Copies the database to the disk.
cp "$HOME/stock.db" /mnt/disk/
