"""Figures for people: terminal tables and one self-contained page."""
