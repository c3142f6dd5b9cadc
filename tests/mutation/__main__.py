"""Runs the mutants: ``python -m tests.mutation [--module NAME ...] [--mutant PART ...] [--verbose] [--keep]``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutation.runner import main

if __name__ == "__main__":
    sys.exit(main())
