"""The sealed state of a form: what it is bound to, and that it counts once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock

import pytest

from surehand.shell.mcp.form_state import FORM_SECONDS, FormStates

TOOL = "continue_attention"
ARGUMENTS: dict[str, object] = {"attention_id": "att_0", "idempotency_key": "k" * 16, "confirm": True}


class SpendOnce:
    """States over a clock that is set by hand and a store in memory."""

    def __init__(self, key: bytes = b"k" * 32) -> None:
        self.now = 1_000
        self.spent: dict[str, int] = {}
        self._lock = Lock()
        self.states = FormStates(key, lambda: self.now, self.spend)

    def spend(self, digest: str, ends: int) -> bool:
        """Remember a digest; whether nobody did before."""
        with self._lock:
            if digest in self.spent:
                return False
            self.spent[digest] = ends
            return True


@pytest.fixture
def bench() -> SpendOnce:
    """States that nobody redeemed yet."""
    return SpendOnce()


class TestAStateCountsForItsCallAlone:
    """Another tool, other arguments, another key, no state, or a changed one: nothing is redeemed or spent."""

    def test_the_call_itself(self, bench: SpendOnce) -> None:
        state = bench.states.mint(TOOL, ARGUMENTS)

        assert bench.states.redeem(state, TOOL, dict(reversed(ARGUMENTS.items()))) is True

    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("reject_attention", ARGUMENTS),
            (TOOL, {**ARGUMENTS, "attention_id": "att_1"}),
            (TOOL, {**ARGUMENTS, "confirm": 1}),
            (TOOL, {}),
        ],
    )
    def test_another_call(self, bench: SpendOnce, tool: str, arguments: dict[str, object]) -> None:
        state = bench.states.mint(TOOL, ARGUMENTS)

        assert bench.states.redeem(state, tool, arguments) is False
        assert bench.spent == {}

    @pytest.mark.parametrize("state", [None, "", "A", "AAAA", "\udc80", "\N{SNOWMAN}", "=" * 60, "A" * 4_000])
    def test_what_is_no_state(self, bench: SpendOnce, state: str | None) -> None:
        assert bench.states.redeem(state, TOOL, ARGUMENTS) is False
        assert bench.spent == {}

    def test_any_changed_sign(self, bench: SpendOnce) -> None:
        state = bench.states.mint(TOOL, ARGUMENTS)
        changed = [state[:i] + ("B" if state[i] != "B" else "C") + state[i + 1 :] for i in range(len(state) - 1)]

        assert {bench.states.redeem(each, TOOL, ARGUMENTS) for each in changed} == {False}
        assert bench.spent == {}

    def test_another_installation(self, bench: SpendOnce) -> None:
        other = SpendOnce(b"o" * 32)

        assert other.states.redeem(bench.states.mint(TOOL, ARGUMENTS), TOOL, ARGUMENTS) is False


class TestAStateCountsOnce:
    """Whoever redeems it first has it, however it is written and whoever else holds it."""

    def test_again(self, bench: SpendOnce) -> None:
        state = bench.states.mint(TOOL, ARGUMENTS)

        assert [bench.states.redeem(state, TOOL, ARGUMENTS) for _ in range(3)] == [True, False, False]

    def test_the_same_bytes_in_other_signs(self, bench: SpendOnce) -> None:
        state = bench.states.mint(TOOL, ARGUMENTS)
        bench.states.redeem(state, TOOL, ARGUMENTS)

        others = [state + "\n", f" {state}", state[:5] + "\n" + state[5:]]
        assert [bench.states.redeem(each, TOOL, ARGUMENTS) for each in others] == [False] * 3
        assert len(bench.spent) == 1

    def test_by_many_at_once(self, bench: SpendOnce) -> None:
        state, start = bench.states.mint(TOOL, ARGUMENTS), Barrier(8)

        def redeem(_: int) -> bool:
            start.wait()
            return bench.states.redeem(state, TOOL, ARGUMENTS)

        with ThreadPoolExecutor(8) as threads:
            assert sorted(threads.map(redeem, range(8))) == [False] * 7 + [True]

    def test_two_forms_of_one_call_are_two_states(self, bench: SpendOnce) -> None:
        first, second = (bench.states.mint(TOOL, ARGUMENTS) for _ in range(2))

        assert first != second
        assert bench.states.redeem(first, TOOL, ARGUMENTS) is True
        assert bench.states.redeem(second, TOOL, ARGUMENTS) is True


class TestAStateEnds:
    """In the second in which it ends it is over, and a clock that went back does not make it count longer."""

    @pytest.mark.parametrize(
        ("passed", "counts"),
        [(0, True), (FORM_SECONDS - 1, True), (FORM_SECONDS, False), (FORM_SECONDS + 1, False), (-1, False)],
    )
    def test_at_the_edge(self, bench: SpendOnce, passed: int, counts: bool) -> None:
        state = bench.states.mint(TOOL, ARGUMENTS)
        bench.now += passed

        assert bench.states.redeem(state, TOOL, ARGUMENTS) is counts
        assert bool(bench.spent) is counts

    def test_it_is_remembered_as_long_as_it_counts(self, bench: SpendOnce) -> None:
        bench.states.redeem(bench.states.mint(TOOL, ARGUMENTS), TOOL, ARGUMENTS)

        assert list(bench.spent.values()) == [bench.now + FORM_SECONDS]
