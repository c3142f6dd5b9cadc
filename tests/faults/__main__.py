"""Runs the fault rig: ``python -m tests.faults [--profile short|full] [--layer NAME ...] [--seed N] [--json]``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.rig import main

if __name__ == "__main__":
    sys.exit(main())
