"""The worker's side of one armed run, as a process that can be killed; it says what it does in JSON lines.

Laws of this module:

- It takes one order from standard input: where to start the fence, what to arm, and whether the boundary ever answers.
- It says: the port and the fence's process; ``asked`` and ``granted``; and the verdict.
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.fence_broken import instead
from surehand.core.workflow.fence import FenceRules
from surehand.core.workflow.route import WriteRoute
from surehand.shell.fence.client import Fence

FORM = "application/x-www-form-urlencoded"


def say(**what: object) -> None:
    """One line."""
    print(json.dumps(what), flush=True)  # noqa: T201 - how this process talks


async def serve(order: dict[str, str]) -> None:
    """Carry the order out, and stay until the input ends."""
    script = order["script"]
    with instead(*json.loads(order["arguments"]), script=script) if script else contextlib.nullcontext():
        fence = await Fence.start(Path(order["journals"]))
    run = await fence.open_run(order["run_id"], FenceRules((order["origin"],)))

    async def cross() -> bool:
        say(boundary="asked")
        if order["hangs"]:
            await asyncio.Event().wait()
        say(boundary="granted")
        return True

    await run.arm(WriteRoute("POST", order["path"], FORM), cross)
    say(proxy=run.proxy_url, fence=fence.process_id)
    verdict = await run.settle(10_000)
    say(delivery=verdict.delivery.value)
    await asyncio.to_thread(sys.stdin.read)
    await fence.close()


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.stdin.readline())))
