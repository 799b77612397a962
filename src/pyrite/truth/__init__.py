"""Deterministic outcomes: replay of known states, verification, failure categories."""
