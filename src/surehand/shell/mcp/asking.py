"""Asking the person at the client: a form, and what came back.

Laws of this module:

- A form is shown by the client. An answer says what the client tells that the person did; it proves nobody's presence.
- A client that cannot show a form is told so by name. Nothing is ever taken for granted in its place.
- In the era without a way back to the client the call ends at its form and is made again with the answer: whatever
  stands before the form is done twice, and must not act.
- The second call proves nothing by itself: anybody can make up an answer. What a form's state is worth is for the tool
  to judge that minted it.
"""

from collections.abc import Awaitable, Callable
from enum import Enum, unique
from typing import Final

from attrs import field, frozen

Json = dict[str, object]

#: The name under which the one form of a call is answered.
FORM_KEY: Final = "form"


@frozen
class Form:
    """A question, the schema of the answer, which is a flat object, and what a second call has to bring back."""

    message: str
    schema: Json
    state: str | None = field(default=None, repr=False)


@unique
class Action(Enum):
    """What the client says that the person did."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@frozen
class FormAnswer:
    """What came back.

    Args:
        action: What the client says that the person did.
        content: What was filled in.
        second_call: Whether the answer came by a call that was made again, and not while the call waited.
        state: What the second call brought back.
    """

    action: Action
    content: Json | None = field(default=None, repr=False)
    second_call: bool = False
    state: str | None = field(default=None, repr=False)


class FormImpossibleError(Exception):
    """The client does not show forms."""


class CallPendingError(Exception):
    """The call ends here, and is made again with an answer."""


class FormPendingError(CallPendingError):
    """The call ends here, and is made again with the answer to its form."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form


#: Shows a form to the person and gives what came back; raises ``FormImpossibleError`` or ``FormPendingError``.
Ask = Callable[[Form], Awaitable[FormAnswer]]


async def nobody_to_ask(_form: Form) -> FormAnswer:
    """For callers without a client.

    Raises:
        FormImpossibleError: Always.
    """
    raise FormImpossibleError
