"""The one workflow of the sandbox, read from its bundle file.

Laws of this module:

- The workflow is data in ``add_triage_note.json`` and is read as strictly as any other bundle. No engine knows it.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Final

from surehand.core.workflow.bundle import Bundle, parse_bundle

_FILE: Final = files("surehand.shell.sandbox") / "add_triage_note.json"


@cache
def sandbox_bundle() -> Bundle:
    """The bundle of ``add_triage_note``; read once in the life of the process.

    Raises:
        UnwrapFailedError: The packaged file is no bundle, which is a bug of ours.
    """
    return parse_bundle(json.loads(_FILE.read_bytes())).unwrap()
