"""Judges of packed evidence: one interface, one file a judge, one runner."""
