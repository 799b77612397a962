"""The bench directory: paths drawn once, JSON lines that survive a kill, images by their pixels."""
