"""The short profile of every layer of the fault rig."""

import os
import random

import pytest

from faults.rig import layer_names, run_layer, table

#: Draws other cells in every run; a failure names it, and the variable draws the same cells again.
SEED = int(os.environ.get("SUREHAND_FAULTS_SEED", random.SystemRandom().randrange(2**31)))

#: Seconds that one layer may need on a busy machine; those that may hang have a shorter bound of their own.
PATIENCE = 1200


class TestFaults:
    """Kill anything at any moment, and the promises hold; what is broken on purpose is caught."""

    @pytest.mark.timeout(PATIENCE)
    @pytest.mark.parametrize("name", layer_names())
    def test_layer_holds_and_catches_its_controls(self, name: str) -> None:
        result = run_layer(name, "short", SEED, print)

        assert result.controls
        assert result.holds, table((result,), "short", SEED)
        assert all(control.evidence for control in result.controls)
