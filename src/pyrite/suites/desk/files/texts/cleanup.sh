#!/bin/sh
# Removes what is older than 30 days.
find "$HOME/tmp" -mtime +30 -delete
