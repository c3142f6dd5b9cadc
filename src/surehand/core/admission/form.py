"""The form in which a client asks a person to admit a workflow.

Laws of this module:

- Only an explicit acceptance with a true confirmation admits; anything else, also an answer with more in it, does not.
- The question is fixed copy around names and codes of the bundle: no value, no address.
"""

from typing import Final, cast

ACCEPT: Final = "accept"
CONFIRM: Final = "confirm"

#: What a person fills in: one box.
FORM_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        CONFIRM: {
            "type": "boolean",
            "title": "Admit this workflow",
            "description": "Agents may then enter records with it until the admission ends or is revoked.",
        }
    },
    "required": [CONFIRM],
}


def form_message(workflow: str, digest: str, policy: str, profile: str, days: int) -> str:
    """The question.

    Args:
        workflow: The workflow's name.
        digest: The digest of its bundle.
        policy: The name of the policy.
        profile: The profile.
        days: For how many days.
    """
    return (
        f"Admit the workflow {workflow}, version {digest[:12]}, under the policy {policy} and the profile {profile}, "
        f"for {days} days? It was certified; `surehand bundle show` tells every step of it."
    )


def is_confirmed(action: str, content: object) -> bool:
    """Whether a person accepted and confirmed, in exactly these words."""
    if action != ACCEPT or not isinstance(content, dict):
        return False
    answers = cast("dict[object, object]", content)
    return set(answers) == {CONFIRM} and answers[CONFIRM] is True
