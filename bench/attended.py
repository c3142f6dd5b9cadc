"""How fast a server answers a ping while the thread that executes runs is held in the middle of a continuation.

Compared with the same server afterwards, when nothing is at work. It is a time at the wall.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Self

from attrs import asdict, frozen

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from support.attended_server import held_continuation
from support.mcp_clients import RawClient


@frozen
class Pings:
    """Milliseconds of many pings."""

    median_ms: float
    longest_ms: float

    @classmethod
    def of(cls, client: RawClient, count: int) -> Self:
        """Ping one after another."""
        times: list[float] = []
        for _ in range(count):
            began = time.perf_counter()
            client.request("ping")
            times.append((time.perf_counter() - began) * 1000)
        return cls(round(median(times), 3), round(max(times), 3))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pings", type=int, default=500)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, held_continuation(Path(folder)) as held:
        during = Pings.of(held.client, options.pings)
        if not held.let_go():
            raise AssertionError("the continuation does not end")
        afterwards = Pings.of(held.client, options.pings)
    if options.json:
        print(json.dumps({"during": asdict(during), "afterwards": asdict(afterwards)}, indent=2))
        return
    print(f"ping while a continuation is held: median {during.median_ms:.2f} ms, longest {during.longest_ms:.2f} ms")
    print(f"ping afterwards: median {afterwards.median_ms:.2f} ms, longest {afterwards.longest_ms:.2f} ms")


if __name__ == "__main__":
    main()
