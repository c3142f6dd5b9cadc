"""The faults that are put into a module: its syntax tree, changed in one place at a time.

Laws of this module:

- A mutant is named by where it is and by what was changed, never by a line, so that its name outlives other changes.
- What has no behaviour is left alone: annotations without constraints, docstrings, decorators, imports, unions of
  types, the text of an exception, and branches that ``assert_never`` closes.
- Tables are changed like statements: an entry is left out, two values change places, a member becomes the next one.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import CodeType
from typing import Final, cast

from attrs import frozen

#: The members of each enum, in the order of declaration.
Enums = Mapping[str, tuple[str, ...]]

#: A change: its name, and the node that stands in place of the old one.
_Change = tuple[str, ast.AST]

_COMPARISONS: Final[Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
}
_ARITHMETIC: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
}
_CALLS: Final[Mapping[str, str]] = {"any": "all", "all": "any", "max": "min", "min": "max"}
_REMOVABLE: Final = (ast.Raise, ast.Return, ast.Delete, ast.AugAssign, ast.Break, ast.Continue)
_SHOWN: Final = 90


@frozen
class Mutant:
    """One module with one fault."""

    name: str
    where: str
    line: int
    code: CodeType


@frozen
class _Place:
    """Where a node hangs in the tree: it can be replaced there, and put back."""

    where: str
    node: ast.AST
    put: Callable[[ast.AST], None]
    in_raise: bool


def enums_of(source: str) -> Enums:
    """The enums that a module declares."""
    return {
        node.name: tuple(
            each.targets[0].id
            for each in node.body
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
        )
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) in {"Enum", "IntEnum"} for base in node.bases)
    }


def original(source: str, path: str) -> CodeType:
    """The module without a fault, made in the way in which mutants are."""
    return compile(ast.parse(source), path, "exec")


def mutants(
    source: str, path: str, enums: Enums, *, only: tuple[str, ...] = (), texts: bool = True
) -> Iterator[Mutant]:
    """Every mutant of a module.

    Args:
        source: The text of the module.
        path: Where it lies; told in tracebacks.
        enums: The enums whose members may be exchanged.
        only: Qualified names of the functions to change; everything when it is empty.
        texts: Whether strings are changed too.

    Raises:
        ValueError: One of the functions is not there.
    """
    tree = ast.parse(source)
    places = tuple(_places(tree, "module", in_raise=False))
    if set(only) - {place.where for place in places}:
        raise ValueError("a function that is to be changed is not there")
    seen: dict[str, int] = {}
    for place in places:
        if only and place.where not in only:
            continue
        for change, node in _changes(place, enums, texts=texts):
            full = f"{place.where}: {change}"
            seen[full] = seen.get(full, 0) + 1
            name = full if seen[full] == 1 else f"{full} ({seen[full]})"
            place.put(ast.copy_location(node, place.node))
            code = compile(ast.fix_missing_locations(tree), path, "exec")
            place.put(place.node)
            yield Mutant(name, place.where, getattr(place.node, "lineno", 0), code)


def _places(parent: ast.AST, where: str, *, in_raise: bool) -> Iterator[_Place]:
    inside = in_raise or isinstance(parent, ast.Raise)
    for field, value in ast.iter_fields(parent):
        children = cast("list[object]", value) if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_left_alone(parent, field, child):
                continue
            below = _below(parent, where, child)
            yield _Place(below, child, _putter(parent, field, index if isinstance(value, list) else None), inside)
            yield from _places(child, below, in_raise=inside)


def _putter(parent: ast.AST, field: str, index: int | None) -> Callable[[ast.AST], None]:
    def put(node: ast.AST) -> None:
        if index is None:
            setattr(parent, field, node)
        else:
            getattr(parent, field)[index] = node

    return put


def _below(parent: ast.AST, where: str, child: ast.AST) -> str:
    """The qualified name of what stands below; nested functions belong to the function that holds them."""
    if isinstance(child, ast.ClassDef | ast.FunctionDef):
        named: dict[type[ast.AST], str] = {ast.Module: child.name, ast.ClassDef: f"{where}.{child.name}"}
        return named.get(type(parent), where)
    if isinstance(parent, ast.Module) and isinstance(child, ast.Assign | ast.AnnAssign):
        return ast.unparse(child.target if isinstance(child, ast.AnnAssign) else child.targets[0])
    return where


def _is_left_alone(parent: ast.AST, field: str, child: ast.AST) -> bool:
    if field in {"annotation", "returns"}:
        return not ast.unparse(child).startswith("Annotated[")
    if isinstance(child, ast.match_case):
        return "assert_never" in ast.unparse(child)
    docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    return (
        docstring or field == "decorator_list" or (isinstance(parent, ast.Subscript) and "Literal" in ast.dump(parent))
    )


def _changes(place: _Place, enums: Enums, *, texts: bool) -> Iterator[_Change]:
    node = place.node
    yield from _changed_statement(node)
    match node:
        case ast.Constant():
            if not isinstance(node.value, str) or (texts and not place.in_raise):
                yield from _changed_constant(node)
        case ast.Attribute(value=ast.Name(id=enum), attr=member) if member in enums.get(enum, ()):
            members = enums[enum]
            other = members[(members.index(member) + 1) % len(members)]
            yield f"{enum}.{member} -> {enum}.{other}", ast.Attribute(node.value, other, node.ctx)
        case ast.Dict() | ast.Set():
            yield from _changed_table(node)
        case ast.expr():
            yield from _changed_expression(node)
        case _:
            return


def _changed_constant(node: ast.Constant) -> Iterator[_Change]:
    match node.value:
        case bool() as value:
            yield f"{value} -> {not value}", ast.Constant(not value)
        case int() | float() as value:
            yield f"{value} -> {value + 1}", ast.Constant(value + 1)
        case str() as value:
            yield _told(node, "another text"), ast.Constant(value + "~")
        case _:
            return


def _changed_expression(node: ast.expr) -> Iterator[_Change]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right):
            for other in _COMPARISONS[type(op)]:
                changed = ast.Compare(left, [other()], right)
                yield _told(node, ast.unparse(changed)), changed
        case ast.BoolOp():
            yield from _changed_condition(node)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _told(node, "without not"), operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            changed_sum = ast.BinOp(left, _ARITHMETIC[type(op)](), right)
            yield _told(node, ast.unparse(changed_sum)), changed_sum
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield _told(node, "branches exchanged"), ast.IfExp(test, orelse, body)
        case ast.Call():
            yield from _changed_call(node)
        case _:
            return


def _changed_condition(node: ast.BoolOp) -> Iterator[_Change]:
    other = ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    yield _told(node, type(other.op).__name__.lower()), other
    for left_out in node.values:
        rest = [value for value in node.values if value is not left_out]
        yield _told(node, f"without {ast.unparse(left_out)}"), ast.BoolOp(node.op, rest) if rest[1:] else rest[0]


def _changed_call(node: ast.Call) -> Iterator[_Change]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in _CALLS:
        yield _told(node, _CALLS[name]), ast.Call(ast.Name(_CALLS[name], ast.Load()), node.args, node.keywords)
    for keyword in node.keywords:
        rest = [each for each in node.keywords if each is not keyword]
        yield _told(node, f"without {keyword.arg}"), ast.Call(node.func, node.args, rest)


def _changed_table(node: ast.Dict | ast.Set) -> Iterator[_Change]:
    if isinstance(node, ast.Set):
        for left_out in node.elts if node.elts[1:] else ():
            rest = [each for each in node.elts if each is not left_out]
            yield f"set without {ast.unparse(left_out)}", ast.Set(rest)
        return
    for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
        if key is None:
            continue
        told = ast.unparse(key)
        yield (
            f"table without {told}",
            ast.Dict(node.keys[:place] + node.keys[place + 1 :], node.values[:place] + node.values[place + 1 :]),
        )
        if place and ast.dump(value) != ast.dump(node.values[place - 1]):
            values = list(node.values)
            values[place - 1 : place + 1] = reversed(values[place - 1 : place + 1])
            yield f"table with the value of {told} exchanged for the one before", ast.Dict(node.keys, values)


def _changed_statement(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            negated = type(node)(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
            yield _told(node.test, f"not ({ast.unparse(test)})"), negated
        case ast.Match(subject=subject, cases=cases):
            for first, second in pairwise(cases):
                yield from _exchanged(subject, cases, first, second)
        case ast.With(body=body) | ast.Try(body=body):
            yield f"{_told(node, 'its body alone')}", ast.If(ast.Constant(True), body, [])
        case ast.Expr() | ast.Assign() if isinstance(node, ast.Expr) or not isinstance(node.targets[0], ast.Name):
            yield _told(node, "removed"), ast.Pass()
        case _ if isinstance(node, _REMOVABLE):
            yield _told(node, "removed"), ast.Pass()
        case _:
            return


def _exchanged(
    subject: ast.expr, cases: list[ast.match_case], first: ast.match_case, second: ast.match_case
) -> Iterator[_Change]:
    if "assert_never" in ast.unparse(second) or ast.dump(ast.Module(first.body, [])) == ast.dump(
        ast.Module(second.body, [])
    ):
        return
    others = {id(first): second.body, id(second): first.body}
    changed = [ast.match_case(each.pattern, each.guard, others.get(id(each), each.body)) for each in cases]
    yield f"cases {ast.unparse(first.pattern)} and {ast.unparse(second.pattern)} exchanged", ast.Match(subject, changed)


def _told(node: ast.AST, after: str) -> str:
    """What was and what is, on one line; of something long its beginning."""
    before = " ".join(ast.unparse(node).split())
    return f"{before if len(before) <= _SHOWN else before[:_SHOWN] + '...'} -> {after}"
