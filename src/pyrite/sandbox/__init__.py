"""Where foreign code and real applications run: the desktop, and confined programs."""
