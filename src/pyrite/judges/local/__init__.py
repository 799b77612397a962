"""A model of the user's own as a GGUF file: read, checked, and served on loopback for the judge client."""
