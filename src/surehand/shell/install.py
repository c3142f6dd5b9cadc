"""Writes Surehand into the configuration of an MCP client.

Laws of this module:

- What stands in a client's file stays there: only our own entry is put in, and the file as it was is kept beside it.
- A file that is not understood to the last character is not touched.
- The new file is there as a whole or not at all.
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Mapping
from enum import Enum, unique
from itertools import count
from pathlib import Path
from typing import Final, cast

from attrs import frozen

from surehand.core.schema import is_unicode
from surehand.core.strict_json import strict_json

#: Our entry's name in every client.
ENTRY: Final = "surehand"


class ClientFileError(Exception):
    """The client's file cannot be read, understood or written; it is as it was."""


@unique
class Client(Enum):
    """The clients whose configuration we know."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CLAUDE_DESKTOP = "claude-desktop"


@frozen
class _Place:
    """Where a client keeps its servers, and whether it wants the transport named."""

    member: str
    named_transport: bool
    project_file: str | None


_PLACES: Final[dict[Client, _Place]] = {
    Client.CLAUDE: _Place("mcpServers", True, ".mcp.json"),
    Client.CURSOR: _Place("mcpServers", False, ".cursor/mcp.json"),
    Client.VSCODE: _Place("servers", True, ".vscode/mcp.json"),
    Client.CLAUDE_DESKTOP: _Place("mcpServers", False, None),
}

#: The desktop application's folder below the home folder, by platform.
_DESKTOP_FOLDERS: Final = {
    "darwin": "Library/Application Support/Claude",
    "win32": "AppData/Roaming/Claude",
}


@frozen
class Installed:
    """What was done: the file, the copy of what stood there before, and whether anything had to change."""

    path: Path
    backup: Path | None
    changed: bool


def server_command(arguments: tuple[str, ...] = ()) -> dict[str, object]:
    """How a client starts the server: by an absolute path, since clients have a bare ``PATH``."""
    return {"command": sys.executable, "args": ["-P", "-m", "surehand", "serve", *arguments]}


def client_entry(client: Client, command: Mapping[str, object]) -> dict[str, object]:
    """The configuration that holds our entry and nothing else."""
    place = _PLACES[client]
    entry = {"type": "stdio", **command} if place.named_transport else dict(command)
    return {place.member: {ENTRY: entry}}


def client_file(client: Client, project: Path, home: Path) -> Path:
    """The file in which the client looks: in the project's folder, or the user's own for the desktop application."""
    place = _PLACES[client]
    if place.project_file is not None:
        return project / place.project_file
    return home / _DESKTOP_FOLDERS.get(sys.platform, ".config/Claude") / "claude_desktop_config.json"


def install(client: Client, path: Path, command: Mapping[str, object]) -> Installed:
    """Put our entry into the client's file.

    Args:
        client: Whose file it is.
        path: The file; it is made when missing, and a link is followed to what it names.
        command: How the server is started.

    Raises:
        ClientFileError: The file cannot be read, understood or written; it is as it was.
    """
    target = path.resolve()
    try:
        before = target.read_bytes() if target.exists() else None
        after = _merged(before, client_entry(client, command))
        if after == before:
            return Installed(path, None, changed=False)
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = None if before is None else _back_up(target, before)
        _replace(target, after)
    except (OSError, ValueError, RecursionError):
        raise ClientFileError("the client's file cannot be changed safely") from None
    return Installed(path, backup, changed=True)


def _merged(before: bytes | None, addition: Mapping[str, object]) -> bytes:
    """The file's JSON with our entry in it, everything else as it was.

    Raises:
        ValueError: The text is no JSON object of the expected shape, or holds what could not be written back as it is.
    """
    text = "" if before is None else before.decode("utf-8-sig")
    found = _strict_json(text) if text.strip() else {}
    merged = _member(found, addition)
    if before is not None and text.strip() and merged == found:
        return before
    return (_json(merged) + "\n").encode()


def _member(found: dict[str, object], addition: Mapping[str, object]) -> dict[str, object]:
    """The object with our entry in the member of servers; order and everything else stay."""
    merged = dict(found)
    for member, entries in addition.items():
        merged[member] = {**_object(found.get(member, {})), **_object(entries)}
    return merged


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the shape of a file is a value, not a type, of ours
    return {str(name): member for name, member in cast("dict[object, object]", value).items()}


def _strict_json(text: str) -> dict[str, object]:
    return _object(strict_json(text, parse_float=_finite))


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a number that can be written back")
    return number


def _json(value: object) -> str:
    """Readable JSON; a text that is no Unicode is written in escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return text if is_unicode(text) else json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)


def _back_up(path: Path, content: bytes) -> Path:
    """Keep the file as it was, under the first free name, with its own mode."""
    for number in count(1):
        backup = path.with_name(f"{path.name}.before-surehand-{number}")
        try:
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path.stat().st_mode & 0o777)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return backup
    raise AssertionError("counting never ends")


def _replace(path: Path, content: bytes) -> None:
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            Path(draft).chmod(path.stat().st_mode & 0o777)
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise
