"""``python -m surehand.shell.sandbox``: the clinic app for a person, or for the process that supervises it.

Laws of this module:

- Nothing is decided here.
"""

import argparse
import sys

from surehand.shell.sandbox.server import serve_for_a_person, serve_supervised


def main() -> None:
    """Serve the clinic app."""
    parser = argparse.ArgumentParser(prog="python -m surehand.shell.sandbox", description="The synthetic clinic app.")
    parser.add_argument(
        "--port", type=int, default=8790, help="port on 127.0.0.1 (default: %(default)s; 0: a free one)"
    )
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.supervised:
        serve_supervised()
        return
    try:
        serve_for_a_person(asked.port)
    except (OSError, OverflowError):
        sys.exit("That port cannot be used.")


if __name__ == "__main__":
    main()
