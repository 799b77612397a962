#!/bin/sh
# Copies the documents to the disk.
cp -r "$HOME/Documents" /mnt/disk/
