"""A workflow as an Agent Skill: the text that tells an agent when to call it, how, and how to read the answer.

Laws of this module:

- It is made of the card alone: no step, address, target or confirmed constant is within its reach.
- Choices, examples and patterns may be data of the app. They are left to ``list_workflows``, which the text names.
- Name and description keep the Agent Skills format, whatever the card says: a text of an app can neither end the
  front matter, nor open a tag, nor begin a line.
- Two workflows never share a name.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from surehand.core.outcome.result import MAX_ATTEMPTS
from surehand.core.workflow.card import Card, CardInput
from surehand.core.workflow.params import ParameterType

SKILL_FILE: Final = "SKILL.md"

#: The folder beside the text in which the workflow itself may lie.
BUNDLE_FOLDER: Final = "bundle"

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1024

#: Words that no name of a skill may hold.
RESERVED: Final = ("anthropic", "claude")

_NAME: Final = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")

_KINDS: Final = {
    ParameterType.LINE: "one line of text",
    ParameterType.TEXT: "text",
    ParameterType.IDENTIFIER: "identifier, entered character by character as given",
    ParameterType.DATE: "date, YYYY-MM-DD",
    ParameterType.DECIMAL: "decimal number such as 0.5, without an exponent or grouping",
    ParameterType.CHOICE: "one of the choices that `list_workflows` shows",
}


@frozen
class Skill:
    """The name of the skill, which is that of its folder, and the content of its file."""

    name: str
    text: str


def skill_of(card: Card, *, with_bundle: bool = False) -> Skill:
    """The skill of a workflow.

    Args:
        card: What an agent is told about it.
        with_bundle: Whether the workflow itself lies beside the text.
    """
    name = skill_name(card.name)
    head = f"---\nname: {name}\ndescription: {json.dumps(_description(card), ensure_ascii=False)}\n---\n"
    return Skill(name, head + "\n".join(_body(card, with_bundle=with_bundle)))


def skill_name(workflow: str) -> str:
    """The name under which agents find the skill: that of the workflow where the format allows it, else one of its own.

    Args:
        workflow: The workflow's name.
    """
    name = workflow.replace("_", "-")
    if _NAME.fullmatch(name) and not any(word in name for word in RESERVED):
        return name
    return f"workflow-{hashlib.sha256(workflow.encode()).hexdigest()[:16]}"


def _description(card: Card) -> str:
    """What it is for, when to use it, and its inputs, as many as there is room for."""
    start = (
        f"{_words(card.purpose)} Use this when one record has to be entered with the Surehand workflow {card.name} "
        f"({_words(card.title)}). It is saved at most once and read back. Inputs: "
    )
    names = [each.name for each in card.inputs]
    shown = next(count for count in range(len(names), -1, -1) if len(start + _list(names, count)) < LONGEST_DESCRIPTION)
    return start + _list(names, shown)


def _list(names: list[str], shown: int) -> str:
    left = len(names) - shown
    return ", ".join([*names[:shown], *([f"and {left} more"] if left else [])] or ["none"]) + "."


def _words(text: str) -> str:
    """A text without what would end the front matter, open a tag, or stand for more than itself."""
    plain = "".join(each if each.isprintable() and each not in "<>`" else " " for each in text)
    return re.sub(" +", " ", re.sub("-{2,}", "-", plain)).strip()


def _body(card: Card, *, with_bundle: bool) -> Iterator[str]:
    yield f"\n# {_words(card.title)}\n"
    yield f"Purpose: {_words(card.purpose)}\n"
    yield f"What done means: {_words(card.done_means)}\n"
    yield "## Inputs\n"
    yield from map(_input, card.inputs)
    yield _CALLING.format(workflow=card.name, attempts=MAX_ATTEMPTS)
    if with_bundle:
        yield _BESIDE


def _input(each: CardInput) -> str:
    needed = "required" if each.required else "may be left out"
    described = f" {_words(each.description)}" if each.description else ""
    return f"- `{each.name}` ({_KINDS[each.type]}; {needed}{_limits(each)}): “{_words(each.title)}”.{described}"


def _limits(each: CardInput) -> str:
    limits = {
        "at least": each.minimum,
        "at most": each.maximum,
        "least characters": each.min_length or None,
        "most characters": each.max_length,
    }
    return "".join(f"; {name} {limit}" for name, limit in limits.items() if limit is not None)


_CALLING: Final = """
Every value is a string. Ask the person for what you do not know; never make a value up.

## How to call it

1. Call `list_workflows` of the Surehand MCP server. The card there is the one in force, with choices and examples.
2. Call `run_workflow` with `workflow` set to `{workflow}`, `inputs` with the values by their names, and a `request_id`
   of your own for this one entry.
3. Use the same `request_id` for every retry of this entry, and another one for every other entry. One `request_id`
   makes at most {attempts} attempts and saves at most once.

## How to read the answer

| outcome | what it means | what you do |
|---|---|---|
| `done` | The record was saved and read back. | Go on. Do not enter it again. |
| `needs_review` | It stopped before saving. Nothing was written. | Wait for a person. Do not retry. |
| `not_sure_if_saved` | A save may have gone through. | Have a person check the record. Never retry. |
| `did_not_run` | This call wrote nothing. | Retry only if `safe_to_retry` is true, with the same `request_id`. |
| `running` | It is still going. | Call `get_run` with its `run_id`. |

Only `done` says that the record was saved. Do not enter the record in the app by any other way.
"""

_BESIDE: Final = f"""## The folder beside this file

`{BUNDLE_FOLDER}` holds the workflow itself, for the person who serves it with Surehand. It is protected data of the
app: do not read it, and do not act by it.
"""
