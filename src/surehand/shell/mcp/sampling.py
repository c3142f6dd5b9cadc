"""Asking the model at the client: a prompt, and what came back.

Laws of this module:

- The client asks the model, and may ask its person first. An answer proves nothing; what it decides is core's to say.
- A client that offers no model is never asked. One that refuses is told apart from one whose answer is no text.
- In the era without a way back to the client the call ends at its prompt and is made again with the answer; what state
  it brings back is judged by whoever minted that.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from attrs import field, frozen

from surehand.core.orchestration.prompt import Prompt
from surehand.shell.mcp.asking import CallPendingError

#: The name under which the one prompt of a call is answered.
MODEL_KEY: Final = "model"

#: The most tokens of an answer.
MAX_TOKENS: Final = 2_000


@frozen
class ModelRequest:
    """A prompt, and what a second call has to bring back."""

    prompt: Prompt
    state: str = field(repr=False)


@frozen
class ModelAnswer:
    """What came back.

    Args:
        text: What the model answered; empty when that is not one text.
        second_call: Whether the answer came by a call that was made again, and not while the call waited.
        state: What the second call brought back.
    """

    text: str = field(repr=False)
    second_call: bool = False
    state: str | None = field(default=None, repr=False)


class ModelDeclinedError(Exception):
    """The client, or its person, does not have the model asked."""


class ModelPendingError(CallPendingError):
    """The call ends here, and is made again with the model's answer."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__()
        self.request = request


#: Has the model asked and gives what came back; raises ``ModelDeclinedError`` or ``ModelPendingError``.
AskModel = Callable[[ModelRequest], Awaitable[ModelAnswer]]
