"""Pure statistics: arrays in, Estimate out, no I/O."""
