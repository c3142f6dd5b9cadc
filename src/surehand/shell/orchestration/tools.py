"""The tools that a template may call, and where conditions look.

Laws of this module:

- A tool says itself whether it may change anything and which arguments it takes.
- A call bears a key that is the same for every try; a tool that can tell what became of a key is asked before a call
  is ever made again, and one that cannot leaves the call in doubt.
- What an embedder's tool raises, or answers against its types, is no end of the world: a call that may have written
  is then in doubt.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol, runtime_checkable

from attrs import frozen

from surehand.core.orchestration.condition import Scene
from surehand.core.orchestration.events import CallTool, Doubt
from surehand.core.orchestration.run import ToolEnd
from surehand.core.orchestration.skill import Effects, ToolSpec
from surehand.core.orchestration.task import Task
from surehand.core.orchestration.text import Binding, by_name
from surehand.core.outcome.reasons import RecordChanged


class Tool(Protocol):
    """A tool of an embedder."""

    @property
    def spec(self) -> ToolSpec:
        """Its name, its arguments, and whether it may change anything."""
        ...

    def call(self, arguments: Mapping[str, str], key: str) -> ToolEnd:
        """Do it once.

        Args:
            arguments: The texts by the names of the arguments.
            key: The idempotency key: the same for every try of this call, and of no other.
        """
        ...


@runtime_checkable
class Accountable(Protocol):
    """A tool that can tell what became of a call."""

    def look_up(self, key: str) -> ToolEnd | Doubt:
        """How the call under this key ended; ``NOT_DELIVERED`` only with proof that it did nothing."""
        ...


@runtime_checkable
class AccountableTasks(Protocol):
    """A task runner that can tell what became of a task."""

    def look_up(self, task_id: str) -> Task | Doubt:
        """How the task ended; ``NOT_DELIVERED`` only with proof that it changed nothing."""
        ...


#: Sees what the page shows now; ``None`` when that cannot be seen.
SceneSource = Callable[[], Scene | None]

#: Knows what is tracked of the app; ``None`` when nothing is.
WorldSource = Callable[[], tuple[Binding, ...] | None]


@frozen
class Tools:
    """The tools that are there."""

    tools: tuple[Tool, ...] = ()

    def specs(self) -> tuple[ToolSpec, ...]:
        """What each of them says of itself."""
        return tuple(tool.spec for tool in self.tools)

    def call(self, asked: CallTool) -> ToolEnd:
        """Call a tool."""
        tool = self._find(asked.tool)
        if tool is None:
            return _FAILED
        try:
            end: object = tool.call(by_name(asked.arguments), asked.key)
        except Exception:  # noqa: BLE001 - an embedder's tool may raise anything; what it did is unknown then
            end = None
        if isinstance(end, ToolEnd):
            return end
        return _FAILED if asked.effects is Effects.READS else _UNKNOWN

    def look_up(self, asked: CallTool) -> ToolEnd | Doubt:
        """What became of a call."""
        tool = self._find(asked.tool)
        if not isinstance(tool, Accountable):
            return Doubt.UNKNOWN
        try:
            return tool.look_up(asked.key)
        except Exception:  # noqa: BLE001 - as above; what cannot be told is unknown
            return Doubt.UNKNOWN

    def _find(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.spec.tool == name), None)


_FAILED: Final = ToolEnd(success=False, record_changed=RecordChanged.NO)
_UNKNOWN: Final = ToolEnd(success=False, record_changed=RecordChanged.UNKNOWN)
