"""The stdio server over the fake service: ``python mcp_fake_server.py [number of workflows]``.

It is started by its path, since some clients pass no environment on.
"""

from surehand.shell.mcp.guard import guard

WIRE = guard()

import sys  # noqa: E402 - the streams are claimed before anything else is loaded
from pathlib import Path  # noqa: E402 - as above

from surehand.shell.mcp.desk import ServicePort  # noqa: E402 - as above
from surehand.shell.mcp.server import main  # noqa: E402 - as above


def build_service() -> ServicePort:
    """The fake service; imported late, as the real one is."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from support.mcp_fake_service import FakeService, cards  # noqa: PLC0415 - as the docstring says

    return FakeService(cards(int(sys.argv[1]) if len(sys.argv) > 1 else 1))


if __name__ == "__main__":
    main(build_service, wire=WIRE)
