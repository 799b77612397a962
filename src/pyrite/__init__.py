"""pyrite: how far can you trust whatever says that your computer-use agent succeeded?"""

__version__ = "0.1.0"
__all__ = ["__version__"]
