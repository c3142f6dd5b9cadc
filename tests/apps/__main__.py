"""Starts one app until it is interrupted: ``python -m tests.apps NAME [--records STATE]``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from apps.apps import main

if __name__ == "__main__":
    sys.exit(main())
