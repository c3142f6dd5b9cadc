"""The one word of the deprecated tools, over every result that can be made."""

from hypothesis import given

from support.outcome_strategies import RESULTS
from surehand.core.older import OlderStatus, older_status
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult


class TestTheOldWordClaimsNoMoreThanTheContract:
    """Success is done and nothing else; what may have saved is never told as something to be repeated."""

    @given(RESULTS)
    def test_every_result(self, result: RunResult) -> None:
        status = older_status(result)

        assert (status is OlderStatus.SUCCESS) is (result.outcome is Outcome.DONE)
        assert (status is OlderStatus.RUNNING) is (result.outcome is Outcome.RUNNING)
        assert status not in (OlderStatus.REFUSED, OlderStatus.ERROR) or result.outcome is Outcome.DID_NOT_RUN
        assert result.outcome is not Outcome.NOT_SURE_IF_SAVED or status in (OlderStatus.HALT, OlderStatus.TIMEOUT)
        assert result.outcome is not Outcome.NEEDS_REVIEW or status is OlderStatus.HALT
