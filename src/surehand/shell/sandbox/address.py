"""Where a running clinic app is: what it says to the one who started it.

Laws of this module:

- Loopback only.
- The line is read strictly; anything else is not our app.
"""

import json
from typing import Final

from attrs import asdict, field, frozen

HOST: Final = "127.0.0.1"

#: Header of the record interface that limits the answer to one scenario.
SCENARIO_HEADER: Final = "Training-Scenario"


@frozen(kw_only=True)
class Address:
    """A running app.

    Args:
        port: Where it listens.
        offline_port: A port that it holds and that refuses every connection.
        token: Bearer token of the record interface.
    """

    port: int
    offline_port: int
    token: str = field(repr=False)

    @property
    def origin(self) -> str:
        """The origin of the app and of its record interface."""
        return f"http://{HOST}:{self.port}"

    @property
    def offline_origin(self) -> str:
        """An origin where nothing answers."""
        return f"http://{HOST}:{self.offline_port}"

    def line(self) -> str:
        """One line of text that ``parse`` reads."""
        return json.dumps(asdict(self))


def parse(line: bytes) -> Address:
    """Read the line of a starting app.

    Raises:
        ValueError: It is not one.
    """
    match json.loads(line):
        case {"port": int(port), "offline_port": int(offline_port), "token": str(token), **rest} if not rest:
            return Address(port=port, offline_port=offline_port, token=token)
        case _:
            raise ValueError("not the line of a clinic app")
