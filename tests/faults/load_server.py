"""A stdio server whose saves are counted by a file: ``python -m faults.load_server <state folder> <oracle>``."""

from surehand.shell.mcp.guard import guard

WIRE = guard()

import sys  # noqa: E402 - the streams are claimed before anything else is loaded
from pathlib import Path  # noqa: E402 - as above

from surehand.shell.mcp.desk import ServicePort  # noqa: E402 - as above
from surehand.shell.mcp.server import main  # noqa: E402 - as above


def build_service() -> ServicePort:
    """The real service over the simulated engine; imported late, as the real one is."""
    from support.effects import service  # noqa: PLC0415 - as the docstring says

    return service(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main(build_service, wire=WIRE)
