"""A real server over the wire while the thread that executes runs is held in the middle of a continuation."""

from pathlib import Path
from typing import Final

import pytest

from support.attended_server import held_continuation
from support.attended_worker import HELD_LATER
from support.mcp_clients import result_of_answer, structured

#: Pings that are answered meanwhile.
_PINGS: Final = 20


class TestTheServerAnswersWhileARunGoesOn:
    """Pings, readings and other runs' questions are answered while a continuation stands before its save."""

    @pytest.mark.timeout(600)
    def test_in_the_middle_of_it(self, tmp_path: Path) -> None:
        with held_continuation(tmp_path) as held:
            pings = [result_of_answer(held.client.request("ping")) for _ in range(_PINGS)]
            listed = structured(held.client.call("list_workflows", {}))["workflows"]
            (item,) = structured(held.client.call("list_needs_attention", {}))["items"]
            before, meanwhile = held.writes(), held.answer()
            ended = held.let_go()
            after, writes = held.answer(), held.writes()

        assert (pings, len(listed), item["status"]) == ([{}] * _PINGS, 1, "in_progress")
        assert (before, meanwhile["outcome"], ended) == ([], "running", True)
        assert (after["outcome"], writes) == ("done", [HELD_LATER])
