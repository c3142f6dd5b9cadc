r"""A small pattern language for inputs that is matched in bounded time.

Laws of this module:

- The language is closed: literals, ``\d`` and ``\w`` with their ASCII meaning, escaped punctuation, classes, groups,
  ``|``, ``?``, ``*``, ``+``, ``{m}``, ``{m,}`` and ``{m,n}`` with counts up to 64.
  Any other syntax is refused, never read as a literal.
- A pattern is always matched against the whole text, so there are no anchors.
- Matching steps over the text once with a set of automaton positions: there is no backtracking.
  The work is at most positions times characters, whatever the pattern.
"""

import string
from functools import lru_cache, reduce
from typing import Final, assert_never

from attrs import frozen

#: The longest pattern, in code points.
MAX_PATTERN_LENGTH: Final = 200
#: The largest count in braces.
MAX_COUNT: Final = 64
#: The most positions that the automaton of one pattern may have, counts unrolled.
MAX_POSITIONS: Final = 256
#: The deepest nesting of groups.
MAX_DEPTH: Final = 20

_LAST_CODE_POINT: Final = 0x10FFFF
_SYNTAX: Final = frozenset(r"\^$.|?*+()[]{}")
_ESCAPABLE: Final = frozenset(string.punctuation)
_DIGITS: Final = ((ord("0"), ord("9")),)
_WORD: Final = (*_DIGITS, (ord("A"), ord("Z")), (ord("_"), ord("_")), (ord("a"), ord("z")))


class PatternError(ValueError):
    """A pattern that the language does not hold, or that is too large. The pattern is not repeated."""


@frozen
class Run:
    """What one match found, and how many position steps it took."""

    matched: bool
    steps: int


@frozen
class _Chars:
    """One character out of sorted, disjoint ranges of code points."""

    ranges: tuple[tuple[int, int], ...]


@frozen
class _Sequence:
    parts: tuple["_Node", ...]


@frozen
class _Choice:
    options: tuple["_Node", ...]


@frozen
class _Repeat:
    part: "_Node"
    least: int
    most: int | None


_Node = _Chars | _Sequence | _Choice | _Repeat


@frozen
class _Fragment:
    """A part of the automaton: its first and last positions as bit sets, and whether it matches the empty text."""

    first: int
    last: int
    nullable: bool


_EMPTY: Final = _Fragment(0, 0, nullable=True)


@frozen
class Automaton:
    """A compiled pattern.

    Args:
        portable: The pattern in the common core of the regular expressions of Python and JavaScript, without anchors.
    """

    portable: str
    _positions: tuple[_Chars, ...]
    _follow: tuple[int, ...]
    _whole: _Fragment

    @property
    def positions(self) -> int:
        """How many positions the automaton has."""
        return len(self._positions)

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self.run(text).matched

    def run(self, text: str) -> Run:
        """Match the whole text, counting steps; at most ``positions`` for each character."""
        allowed: dict[str, int] = {}
        reachable, active, steps = self._whole.first, 0, 0
        for character in text:
            if character not in allowed:
                allowed[character] = self._accepting(character)
            active = reachable & allowed[character]
            steps += active.bit_count()
            reachable = reduce(lambda found, position: found | self._follow[position], _bits(active), 0)
            if not active:
                return Run(matched=False, steps=steps)
        return Run(matched=bool(active & self._whole.last) if text else self._whole.nullable, steps=steps)

    def _accepting(self, character: str) -> int:
        code = ord(character)
        return sum(1 << index for index, chars in enumerate(self._positions) if _holds(chars.ranges, code))


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Automaton:
    """Compile a pattern.

    Args:
        text: The pattern, at most 200 code points.

    Raises:
        PatternError: It uses syntax outside the language, or its automaton would be too large.
    """
    if not text or len(text) > MAX_PATTERN_LENGTH:
        raise PatternError("the pattern is empty or too long")
    tree = _Parser(text).parse()
    if _size(tree) > MAX_POSITIONS:
        raise PatternError("the pattern is too large once its counts are unrolled")
    builder = _Builder()
    whole = builder.build(tree)
    return Automaton(_render(tree), tuple(builder.positions), tuple(builder.follow), whole)


def _bits(mask: int) -> list[int]:
    """The positions in a bit set."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _holds(ranges: tuple[tuple[int, int], ...], code: int) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same characters as sorted, disjoint, non-adjacent ranges."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    edges = [-1, *(edge for pair in ranges for edge in pair), _LAST_CODE_POINT + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return tuple((after + 1, before - 1) for after, before in gaps if after + 1 <= before - 1)


class _Parser:
    """Reads a pattern from left to right; each method consumes what it returns."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> _Node:
        """The tree of the whole pattern."""
        tree = self._choice()
        if self._peek():
            raise PatternError("a closing parenthesis without an opening one")
        return tree

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        taken = self._peek()
        if not taken:
            raise PatternError("the pattern ends too early")
        self._at += 1
        return taken

    def _took(self, wanted: str) -> bool:
        found = self._text.startswith(wanted, self._at)
        self._at += len(wanted) if found else 0
        return found

    def _choice(self) -> _Node:
        options = [self._sequence()]
        while self._took("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else _Choice(tuple(options))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated())
        if not parts:
            raise PatternError("an empty alternative")
        return parts[0] if len(parts) == 1 else _Sequence(tuple(parts))

    def _repeated(self) -> _Node:
        part = self._atom()
        match self._peek():
            case "?":
                bounds: tuple[int, int | None] = (0, 1)
            case "*":
                bounds = (0, None)
            case "+":
                bounds = (1, None)
            case "{":
                return _Repeat(part, *self._counts())
            case _:
                return part
        self._take()
        return _Repeat(part, *bounds)

    def _counts(self) -> tuple[int, int | None]:
        self._take()
        least = self._number()
        most: int | None = least
        if self._took(","):
            most = None if self._peek() == "}" else self._number()
        if not self._took("}") or (most is not None and most < least):
            raise PatternError("a count that is not {m}, {m,} or {m,n}")
        return least, most

    def _number(self) -> int:
        digits = ""
        while self._peek() in tuple(string.digits):
            digits += self._take()
        if not digits or len(digits) > len(str(MAX_COUNT)) or int(digits) > MAX_COUNT:
            raise PatternError("a count that is not a number from 0 to 64")
        return int(digits)

    def _atom(self) -> _Node:
        taken = self._take()
        match taken:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return _Chars(self._escape())
            case _ if taken in _SYNTAX:
                raise PatternError("a character that must be escaped")
            case _:
                return _Chars(((ord(taken), ord(taken)),))

    def _group(self) -> _Node:
        self._took("?:")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PatternError("groups that are nested too deeply")
        inner = self._choice()
        if not self._took(")"):
            raise PatternError("an opening parenthesis without a closing one")
        self._depth -= 1
        return inner

    def _escape(self) -> tuple[tuple[int, int], ...]:
        taken = self._take()
        if taken == "d":
            return _DIGITS
        if taken == "w":
            return _WORD
        if taken not in _ESCAPABLE:
            raise PatternError("an escape that is not known")
        return ((ord(taken), ord(taken)),)

    def _class(self) -> _Chars:
        negated = self._took("^")
        ranges: list[tuple[int, int]] = []
        while not self._took("]"):
            ranges.extend(self._class_item())
        found = _merged(ranges)
        found = _complement(found) if negated and found else found
        if not found:
            raise PatternError("a class that holds no character")
        return _Chars(found)

    def _class_item(self) -> tuple[tuple[int, int], ...]:
        low = self._class_end()
        if not self._took("-"):
            return low
        high = self._class_end()
        if _is_set(low) or _is_set(high) or high[0][0] < low[0][0]:
            raise PatternError("a range that is not one from a lower to a higher character")
        return ((low[0][0], high[0][0]),)

    def _class_end(self) -> tuple[tuple[int, int], ...]:
        taken = self._take()
        if taken == "\\":
            return self._escape()
        if taken in "[]^-":
            raise PatternError("a character that must be escaped in a class")
        return ((ord(taken), ord(taken)),)


def _is_set(ranges: tuple[tuple[int, int], ...]) -> bool:
    return ranges[0][0] != ranges[-1][1]


def _size(node: _Node) -> int:
    """Positions of the automaton, before it is built; at least one for each node, so that building is bounded too."""
    match node:
        case _Chars():
            return 1
        case _Sequence(parts=parts) | _Choice(options=parts):
            return sum(_size(part) for part in parts)
        case _Repeat(part=part, least=least, most=most):
            return _size(part) * max(1, least + 1 if most is None else most)
        case _:  # pragma: no cover
            assert_never(node)


class _Builder:
    """Builds the position automaton of a tree; ``follow`` holds the positions that may come after each position."""

    def __init__(self) -> None:
        self.positions: list[_Chars] = []
        self.follow: list[int] = []

    def build(self, node: _Node) -> _Fragment:
        match node:
            case _Chars():
                self.positions.append(node)
                self.follow.append(0)
                bit = 1 << (len(self.positions) - 1)
                return _Fragment(bit, bit, nullable=False)
            case _Sequence(parts=parts):
                return reduce(lambda before, part: self._then(before, self.build(part)), parts, _EMPTY)
            case _Choice(options=options):
                return reduce(_either, [self.build(option) for option in options])
            case _Repeat():
                return self._repeat(node)
            case _:  # pragma: no cover
                assert_never(node)

    def _repeat(self, node: _Repeat) -> _Fragment:
        whole = _EMPTY
        for _ in range(node.least):
            whole = self._then(whole, self.build(node.part))
        if node.most is None:
            return self._then(whole, self._loop(self.build(node.part)))
        for _ in range(node.most - node.least):
            whole = self._then(whole, _optional(self.build(node.part)))
        return whole

    def _then(self, before: _Fragment, after: _Fragment) -> _Fragment:
        self._link(before.last, after.first)
        return _Fragment(
            before.first | (after.first if before.nullable else 0),
            after.last | (before.last if after.nullable else 0),
            nullable=before.nullable and after.nullable,
        )

    def _loop(self, part: _Fragment) -> _Fragment:
        self._link(part.last, part.first)
        return _optional(part)

    def _link(self, origins: int, targets: int) -> None:
        for origin in _bits(origins):
            self.follow[origin] |= targets


def _either(one: _Fragment, other: _Fragment) -> _Fragment:
    return _Fragment(one.first | other.first, one.last | other.last, nullable=one.nullable or other.nullable)


def _optional(part: _Fragment) -> _Fragment:
    return _Fragment(part.first, part.last, nullable=True)


def _render(node: _Node) -> str:
    """The tree as a regular expression that Python and JavaScript read alike."""
    match node:
        case _Chars(ranges=ranges):
            return _render_chars(ranges)
        case _Sequence(parts=parts):
            return "".join(_render(part) for part in parts)
        case _Choice(options=options):
            return f"(?:{'|'.join(_render(option) for option in options)})"
        case _Repeat(part=part, least=least, most=most):
            return f"(?:{_render(part)}){{{least},{'' if most is None else most}}}"
        case _:  # pragma: no cover
            assert_never(node)


def _render_chars(ranges: tuple[tuple[int, int], ...]) -> str:
    return f"[{''.join(f'{_render_code(low)}-{_render_code(high)}' for low, high in ranges)}]"


def _render_code(code: int) -> str:
    return f"\\{chr(code)}" if chr(code) in r"\[]^-" else chr(code)
