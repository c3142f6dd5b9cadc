"""What reading the records of a run once more shows, long after its save.

Laws of this module:

- It is judged as the read-back of a run is, and no more is said: what is not proven to be the intended record is none.
- Records that were not read, or cannot be told apart, show nothing.
"""

from collections.abc import Mapping
from typing import assert_never

from surehand.core.attention.decision import Finding
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import Records, RecordsUnavailable
from surehand.core.workflow.readback import Absent, NotYet, Proven, Refuted, Unread, judge, keys_are_unique


def found(bundle: Bundle, inputs: Mapping[str, str], baseline: Records, after: Records | RecordsUnavailable) -> Finding:
    """What the records show.

    Args:
        bundle: The workflow.
        inputs: The inputs of the run.
        baseline: The records as they were before its save.
        after: The records as they are now.
    """
    if isinstance(after, RecordsUnavailable) or not (keys_are_unique(baseline) and keys_are_unique(after)):
        return Finding.UNREADABLE
    judgment = judge(bundle, inputs, baseline, after, last=True)
    match judgment:
        case Proven():
            return Finding.SAVED_AS_INTENDED
        case Absent():
            return Finding.NOT_FOUND
        case Refuted():
            return Finding.DIFFERS
        case Unread() | NotYet():
            return Finding.UNREADABLE
        case _:  # pragma: no cover
            assert_never(judgment)
