"""Random histories of two services on one store, and the same histories on a store that keeps no boundary."""

import pytest

from support.service_machine import OnACarelessStore, TwoServices, a_stalled_owner_wakes_up

TestTwoServices = TwoServices.TestCase


class TestTheMachineCatchesABoundaryThatIsNotKept:
    """Without the compare-and-set at the boundary a stalled owner writes a second time, and that is seen."""

    def test_a_careless_store_is_caught(self) -> None:
        with pytest.raises(AssertionError):
            a_stalled_owner_wakes_up(OnACarelessStore())

    def test_the_same_history_is_sound_on_a_store_that_keeps_it(self) -> None:
        a_stalled_owner_wakes_up(TwoServices())
