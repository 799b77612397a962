#!/bin/sh
# Copies the letters to the disk.
cp -r "$HOME/Letters" /mnt/disk/
