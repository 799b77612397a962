"""Somebody else's task definitions, read and never run: what their verifiers do, and what can go wrong."""
