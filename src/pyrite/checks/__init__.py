"""What verifiers are written with; nothing here imports more than the standard library and defusedxml."""
