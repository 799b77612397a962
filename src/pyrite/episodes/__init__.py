"""Making episodes: recording agents, and perturbing what was recorded."""
