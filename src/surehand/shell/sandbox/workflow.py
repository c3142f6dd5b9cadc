"""The one workflow of the sandbox: its bundle and its card, read from their files.

Laws of this module:

- Both are data, read as strictly as those of any other workflow. No engine knows this one.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Final

from surehand.core.workflow.bundle import Bundle, parse_bundle
from surehand.core.workflow.card import Card, choose_card

_FOLDER: Final = files("surehand.shell.sandbox")


@cache
def sandbox_bundle() -> Bundle:
    """The bundle of ``add_triage_note``; read once in the life of the process.

    Raises:
        UnwrapFailedError: The packaged file is no bundle, which is a bug of ours.
    """
    return parse_bundle(json.loads((_FOLDER / "add_triage_note.json").read_bytes())).unwrap()


@cache
def sandbox_card() -> Card:
    """The card of ``add_triage_note``; read once in the life of the process."""
    return choose_card(sandbox_bundle(), json.loads((_FOLDER / "surehand-card.json").read_bytes())).card
