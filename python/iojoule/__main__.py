"""``python -m iojoule`` is the command ``iojoule``."""

from iojoule.cli import main

if __name__ == "__main__":
    main()
