"""``python -m surehand`` is the command ``surehand``."""

from surehand.shell.cli import main

if __name__ == "__main__":
    main()
