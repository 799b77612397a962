"""`python -m pyrite` is the same as `pyrite`."""

from pyrite.cli import main

if __name__ == "__main__":
    main()
