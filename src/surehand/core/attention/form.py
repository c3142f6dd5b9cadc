"""The form in which a client asks a person whether to take a decision.

Laws of this module:

- Each action has its own question. It is fixed copy, around the opaque name of the item alone.
- Only an explicit acceptance with a true confirmation counts, and nothing beside it but a code where one is asked for.
- What was filled in is judged here and kept nowhere.
"""

from typing import Final, cast

from attrs import field, frozen

from surehand.core.attention.pause import QUESTIONS, Action, PauseView

ACCEPT: Final = "accept"
CONFIRM: Final = "confirm"
CODE: Final = "code"

#: Signs of a code with what people put between them.
_MOST_TYPED: Final = 20

Json = dict[str, object]


@frozen
class Confirmed:
    """A person accepted and confirmed; with the code that they typed, where one was asked for."""

    code: str | None = field(default=None, repr=False)


@frozen
class _Words:
    """What is asked, and what the box is called."""

    question: str
    box: str


_WORDS: Final[dict[Action, _Words]] = {
    Action.CONTINUE: _Words(
        "Let this run go on? You did the step in the window of the app. The run does not do it again: it compares the "
        "record once more, goes on with the next step, and may save.",
        "I did the step, and the run may go on",
    ),
    Action.SKIP: _Words(
        "Leave this step out? The run compares the record once more, goes on with the next step, and may save.",
        "The step may be left out, and the run may go on",
    ),
    Action.REJECT: _Words(
        "End this run for good? It never goes on, and nothing more is sent to the app. The agent is told that this "
        "entry is not to be made.",
        "End this run for good",
    ),
    Action.TEACH: _Words(
        "Ask for a demonstration that corrects this workflow? The run stays as it is and can still be decided.",
        "Ask for a demonstration",
    ),
    Action.ESCALATE: _Words(
        "Ask somebody else for help with this run? It stays as it is and can still be decided.", "Ask for help"
    ),
    Action.RECONCILE: _Words(
        "Read the record again? It is compared with what was to be saved. Nothing is entered and nothing is saved.",
        "Read the record again",
    ),
}

_CODE_HELP: Final = "The code stands on this computer: `surehand attend show {item}`, or `surehand console`."


def form_message(action: Action, item: str, view: PauseView, *, with_code: bool) -> str:
    """The question.

    Args:
        action: What is to be decided.
        item: The opaque name of the pause.
        view: What the pause asks of a person.
        with_code: Whether a code is asked for.
    """
    stopped = QUESTIONS[view]
    words = f"{stopped.headline} ({item}). {stopped.question}\n\n{_WORDS[action].question}"
    return f"{words}\n\n{_CODE_HELP.format(item=item)}" if with_code else words


def action_words(action: Action) -> str:
    """The question of an action, where everything else is in sight."""
    return _WORDS[action].question


def box_words(action: Action) -> str:
    """What the person confirms who takes an action."""
    return _WORDS[action].box


def form_schema(action: Action, *, with_code: bool) -> Json:
    """What the person fills in: a box, and a code where one is asked for."""
    members: Json = {CONFIRM: {"type": "boolean", "title": _WORDS[action].box}}
    if with_code:
        members[CODE] = {"type": "string", "title": "Code", "minLength": 1, "maxLength": _MOST_TYPED}
    return {"type": "object", "properties": members, "required": list(members)}


def judge_answer(accepted: str, content: object, *, with_code: bool) -> Confirmed | None:
    """What an answer to the form says; ``None`` for everything that does not confirm.

    Args:
        accepted: What the client tells that the person did.
        content: What was filled in.
        with_code: Whether a code was asked for.
    """
    if accepted != ACCEPT or not isinstance(content, dict):
        return None
    answers = cast("dict[object, object]", content)
    if set(answers) != ({CONFIRM, CODE} if with_code else {CONFIRM}) or answers[CONFIRM] is not True:
        return None
    if not with_code:
        return Confirmed()
    code = answers[CODE]
    return Confirmed(code) if isinstance(code, str) and 0 < len(code) <= _MOST_TYPED else None
