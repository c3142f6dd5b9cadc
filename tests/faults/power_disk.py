"""What may be on a disk after a power cut: every flushed byte, and of the rest anything.

Laws of this module:

- Data of a file is safe once the file was flushed, a name once its folder was. Nothing else is.
- What was not flushed is lost, kept, or torn at sectors of 512 bytes, each piece by itself. Names are lost or kept.
- A file is what was written to it, whatever it is called; several names may lead to one file.
"""

import random
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum, unique
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from support.shim import Event, Operation

SECTOR: Final = 512


@unique
class Fate(Enum):
    """What happens to everything that was not flushed."""

    LOST = "lost"
    KEPT = "kept"
    MIXED = "mixed"


@frozen
class _Change:
    """A write that was not flushed; without data a change of the size."""

    offset: int
    data: bytes | None


@define(eq=False)
class Node:
    """A file or a folder, whatever its names.

    Args:
        inode: Its number while it was recorded.
        is_folder: Whether it is a folder.
        safe: The flushed content.
        loose: What was not flushed.
    """

    inode: int
    is_folder: bool = False
    safe: bytearray = field(factory=bytearray)
    loose: list[_Change] = field(factory=list[_Change])

    def flush(self) -> None:
        """Make everything safe."""
        for change in self.loose:
            _apply(self.safe, change)
        self.loose.clear()

    def content(self, fate: Fate, chance: random.Random) -> bytes:
        """What the file holds after the cut."""
        content = bytearray(self.safe)
        for change in self.loose:
            if fate is Fate.KEPT:
                _apply(content, change)
            elif fate is Fate.MIXED:
                for piece in _pieces(change, chance):
                    _apply(content, piece)
        return bytes(content)


def _pieces(change: _Change, chance: random.Random) -> Iterator[_Change]:
    """What is left of a change: all of it, nothing, or some of its sectors."""
    lot = chance.random()
    if lot < 0.4:
        yield change
    elif lot < 0.7 and change.data is not None and len(change.data) > SECTOR:
        for start in range(0, len(change.data), SECTOR):
            if chance.random() < 0.5:
                yield _Change(change.offset + start, change.data[start : start + SECTOR])


def _apply(content: bytearray, change: _Change) -> None:
    end = change.offset + len(change.data or b"")
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if change.data is None:
        del content[change.offset :]
    else:
        content[change.offset : end] = change.data


@frozen
class _Naming:
    """A change of names in one folder: the old name goes, the new one leads to the node."""

    gone: str | None
    name: str | None
    node: Node | None


class Disk:
    """A disk below one folder, brought forward by events."""

    def __init__(self, root: Path) -> None:
        self._root: Final = str(root)
        self._nodes: Final[dict[int, Node]] = {}
        self._names: Final[dict[str, Node]] = {self._root: Node(0, is_folder=True)}
        self._now: Final[dict[str, Node]] = dict(self._names)
        self._loose: Final[defaultdict[str, list[_Naming]]] = defaultdict(list)
        self._add_safe(root)

    def _add_safe(self, root: Path) -> None:
        """What lies there before anything is recorded is safe."""
        for path in sorted(root.rglob("*")):
            inode = path.lstat().st_ino
            node = self._nodes.setdefault(inode, Node(inode, path.is_dir()))
            if path.is_file():
                node.safe[:] = path.read_bytes()
            self._names[str(path)] = self._now[str(path)] = node

    def node(self, path: Path) -> Node | None:
        """What the name led to just before the cut."""
        return self._now.get(str(path))

    def take(self, event: Event) -> None:
        """Bring the disk forward by one event."""
        match event.operation:
            case Operation.WRITE:
                self._file(event).loose.append(_Change(event.offset, event.data))
            case Operation.TRUNCATE:
                self._file(event).loose.append(_Change(event.offset, None))
            case Operation.SYNC:
                self._flush(event)
            case Operation.CREATE | Operation.MKDIR:
                self._create(event)
            case Operation.LINK | Operation.RENAME:
                gone = event.path if event.operation is Operation.RENAME else None
                self._rename(event.other, _Naming(gone, event.other, self._now[event.path]))
            case Operation.UNLINK:
                self._rename(event.path, _Naming(event.path, None, None))
            case Operation.MARK:
                pass

    def _file(self, event: Event) -> Node:
        return self._nodes[event.inode]

    def _create(self, event: Event) -> None:
        if event.operation is Operation.MKDIR or event.offset == 1:
            node = self._nodes[event.inode] = Node(event.inode, event.operation is Operation.MKDIR)
            self._rename(event.path, _Naming(None, event.path, node))
        elif event.data:
            self._file(event).loose.append(_Change(0, None))

    def _rename(self, path: str, naming: _Naming) -> None:
        self._loose[path.rpartition("/")[0]].append(naming)
        _name(self._now, naming)

    def _flush(self, event: Event) -> None:
        node = self._now.get(event.path)
        if node is None or not node.is_folder:
            self._file(event).flush()
            return
        for naming in self._loose.pop(event.path, []):
            _name(self._names, naming)

    def cut(self, fate: Fate, chance: random.Random, target: Path) -> dict[str, Node]:
        """Write into a folder what is left after a power cut now.

        Returns:
            What each name leads to, by its path relative to the folder.
        """
        names = dict(self._names)
        for loose in self._loose.values():
            for naming in _left(loose, fate, chance):
                _name(names, naming)
        written: dict[Node, Path] = {}
        found: dict[str, Node] = {}
        for path in sorted(names):
            relative = path[len(self._root) + 1 :]
            if not self._is_reachable(path, names):
                continue
            found[relative] = names[path]
            _put(names[path], target / relative, written, fate, chance)
        return found

    def _is_reachable(self, path: str, names: dict[str, Node]) -> bool:
        """Whether the folder of a name survived; the index of SQLite's log is never read after a cut."""
        if path == self._root or path.endswith("-shm"):
            return False
        parent = path.rpartition("/")[0]
        return parent == self._root or (parent in names and self._is_reachable(parent, names))


def _name(names: dict[str, Node], naming: _Naming) -> None:
    if naming.gone is not None:
        names.pop(naming.gone, None)
    if naming.name is not None and naming.node is not None:
        names[naming.name] = naming.node


def _left(loose: list[_Naming], fate: Fate, chance: random.Random) -> list[_Naming]:
    """The namings of one folder that survive: none, all, the first of them, or any."""
    if fate is Fate.LOST:
        return []
    if fate is Fate.KEPT:
        return loose
    if chance.random() < 0.5:
        return loose[: chance.randint(0, len(loose))]
    return [naming for naming in loose if chance.random() < 0.5]


def _put(node: Node, path: Path, written: dict[Node, Path], fate: Fate, chance: random.Random) -> None:
    if node.is_folder:
        path.mkdir(mode=0o700)
    elif node in written:
        path.hardlink_to(written[node])
    else:
        path.write_bytes(node.content(fate, chance))
        path.chmod(0o600)
        written[node] = path
