"""Formats of other harnesses, read and written: one file a format."""
