"""Which operation the body of a request holds, where one address serves everything.

Laws of this module:

- Any body is read, within bounds, and nothing raises. What is too large holds nothing.
- What a server could read in two ways holds nothing: a member or a field that is there again, in whatever spelling; a
  charset other than UTF-8; a lenient framing; a document that is named beside the one that is sent.
- A document only queries when each of its operations does. Texts and comments of a document are no operations.

The grammars: GraphQL specification, section 2 (lexical tokens, documents), and GraphQL over HTTP; RFC 7578 for
``multipart/form-data`` and the URL standard for ``application/x-www-form-urlencoded``; RFC 8259 for JSON.
"""

import re
from functools import cached_property
from typing import Final, assert_never, cast

from attrs import field, frozen

from surehand.core.strict_json import strict_json
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, Operation

#: What is read at the most: bytes of a text, fields of a form, characters of a GraphQL document.
_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_FIELDS: Final = 2_000
_MOST_CHARACTERS: Final = 256 * 1024

#: The member by which forms ask for another method than POST.
METHOD_FIELD: Final = "_method"

_CONTENT_TYPE: Final = re.compile(
    r"(?P<media>[a-z0-9.+-]+/[a-z0-9.+-]+)"
    r"(?P<parameters>(?:[ \t]*;[ \t]*[a-z0-9-]+=(?:[!#$%&'*+.^_`|~0-9a-z-]+|\"[^\"\\]*\"))*)[ \t]*",
    re.IGNORECASE,
)
_PARAMETER: Final = re.compile(r";[ \t]*([a-z0-9-]+)=(\"[^\"]*\"|[^ \t;\"]+)", re.IGNORECASE)
_JSON: Final = re.compile(r"application/json|text/json|application/[a-z0-9.-]+\+json")
_BOUNDARY: Final = re.compile(r"[0-9A-Za-z'()+_,./:=?-]{1,70}")
_DISPOSITION: Final = re.compile(
    r'form-data; name="(?P<name>[^"\\%\r\n]*)"(?:; filename="(?P<file>[^"\\\r\n]*)")?', re.IGNORECASE
)
_ESCAPED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
#: What servers read members out of, by the beginning of its type; and a member that asks for a method, loosely read.
_OF_MEMBERS: Final = re.compile(
    r"application/x-www-form-urlencoded|multipart/form-data|[a-z]+/([a-z0-9.-]+\+)?json", re.IGNORECASE
)
_ASKING: Final = re.compile(rb"(?:^|[&;=\"'])[ \t+]*[_.]method", re.IGNORECASE)


def holds(operation: Operation, content_type: str, body: bytes) -> bool:
    """Whether a body holds this operation, whichever way it may be read. Total.

    Args:
        operation: What is looked for.
        content_type: The content type as sent, with its parameters.
        body: The whole body, which is in no content encoding.
    """
    return Content(content_type, body).holds(operation)


@frozen
class Content:
    """A body and its type, for several questions: each kind of reading is done once, when it is asked for."""

    content_type: str
    body: bytes = field(repr=False)

    def holds(self, operation: Operation) -> bool:
        """As the function of this name."""
        match operation:
            case GraphqlOperation() | GraphqlRead():
                return self._graphql == operation
            case FormField(name=name, value=value):
                found = _only(self._fields, name)
                return found is not None and value in (None, found.value)
            case JsonMember(name=name, value=value):
                return _text_member(self._json, name) == value
            case _:  # pragma: no cover
                assert_never(operation)

    @cached_property
    def asks_method(self) -> bool:
        """Whether it names another method than that of its request, as servers read it out of a form or an object."""
        if self._fields is None and self._json is None:
            return _OF_MEMBERS.match(self.content_type.strip()) is not None and may_ask_method(self.body)
        fields = any(alike(each.name, METHOD_FIELD) for each in self._fields or ())
        members = self._json
        return fields or (isinstance(members, dict) and METHOD_FIELD in cast("dict[str, object]", members))

    @cached_property
    def _graphql(self) -> GraphqlOperation | GraphqlRead | None:
        return graphql(self.content_type, self.body)

    @cached_property
    def _fields(self) -> "tuple[Field, ...] | None":
        return form_fields(self.content_type, self.body)

    @cached_property
    def _json(self) -> object:
        return _json(self.content_type, self.body)


def may_ask_method(data: bytes) -> bool:
    """Whether a lenient server may read a member that asks for another method out of what is read in two ways."""
    return _ASKING.search(_ESCAPED.sub(lambda escaped: bytes.fromhex(escaped[1].decode()), data)) is not None


def named_in_query(operation: Operation, name: str) -> bool:
    """Whether a server may read a query member of this name in place of what the body says."""
    if isinstance(operation, GraphqlOperation | GraphqlRead):
        return _folded(name) in _GRAPHQL_QUERY
    return _folded(name) == _folded(operation.name)


def is_method(operation: Operation | None) -> bool:
    """Whether the operation is the method that a form asks for."""
    return isinstance(operation, FormField | JsonMember) and operation.name == METHOD_FIELD


def operations_meet(one: Operation | None, other: Operation | None) -> bool:
    """Whether some body could hold both. In doubt one could; one that asks for another method is of no other route."""
    if is_method(one) != is_method(other):
        return False
    match one, other:
        case (GraphqlOperation(), GraphqlOperation() | GraphqlRead()) | (GraphqlRead(), GraphqlOperation()):
            return one == other
        case (FormField(name=name, value=first), FormField(name=same, value=second)) if name == same:
            return first is None or second is None or first == second
        case (JsonMember(name=name, value=first), JsonMember(name=same, value=second)) if name == same:
            return first == second
        case _:
            return True


# Forms and queries


@frozen
class Field:
    """One member of a form or a query, decoded; the content of a file is no value."""

    name: str
    value: str | None = field(repr=False)


def query_fields(query: str) -> tuple[Field, ...] | None:
    """The members of a query, or of a form that is encoded like one; ``None`` when it can be read in two ways."""
    parts = query.split("&", _MOST_FIELDS)
    if len(parts) > _MOST_FIELDS or ";" in query:
        return None
    pairs = [part.replace("+", " ").partition("=") for part in parts if part]
    decoded = [(unescaped(name), unescaped(value)) for name, _, value in pairs]
    fields = [Field(name, value) for name, value in decoded if name is not None and value is not None]
    return _readable(fields) if len(fields) == len(pairs) else None


def unescaped(text: str) -> str | None:
    """The text without percent-encoding; ``None`` when an escape is broken, or when it is not UTF-8."""
    if _BROKEN_ESCAPE.search(text) is not None:
        return None
    try:
        return _ESCAPED.sub(lambda escaped: bytes.fromhex(escaped[1].decode()), text.encode()).decode()
    except UnicodeError:
        return None


def _readable(fields: list[Field]) -> tuple[Field, ...] | None:
    """The fields, unless a name holds a control character, where some servers end it, or a field names a charset."""
    readable = all(_CONTROL.search(each.name) is None and each.name != "_charset_" for each in fields)
    return tuple(fields) if readable else None


def form_fields(content_type: str, body: bytes) -> tuple[Field, ...] | None:
    """The fields of a form; ``None`` for what is none, or can be read in two ways."""
    media, parameters = _content_type(content_type)
    if media == "application/x-www-form-urlencoded":
        text = _text(body)
        return None if text is None else query_fields(text)
    boundary = parameters.get("boundary", "")
    if media != "multipart/form-data" or _BOUNDARY.fullmatch(boundary) is None:
        return None
    return _multipart_fields(boundary.encode(), body)


def _multipart_fields(boundary: bytes, body: bytes) -> tuple[Field, ...] | None:
    """The fields of a body whose delimiters all stand where RFC 2046 wants them, with nothing before or behind."""
    before, *pieces = body.split(b"--" + boundary, _MOST_FIELDS + 1)
    if before or not pieces or pieces.pop() not in (b"--", b"--\r\n"):
        return None
    fields = [found for piece in pieces if (found := _part(piece)) is not None]
    return _readable(fields) if len(fields) == len(pieces) else None


def _part(piece: bytes) -> Field | None:
    """One part, between its delimiters."""
    head, blank, content = piece[2:-2].partition(b"\r\n\r\n")
    if not (blank and piece.startswith(b"\r\n") and piece.endswith(b"\r\n")):
        return None
    headers = [line.partition(b": ") for line in head.split(b"\r\n")]
    named = {_text(name.lower()): _text(value) for name, _, value in headers}
    is_repeated = len(named) != len(headers)
    disposition = _DISPOSITION.fullmatch(named.pop("content-disposition", None) or "")
    media, parameters = _content_type(named.pop("content-type", "text/plain") or "")
    # Some servers take a parameter "name" of the type for the name of a file.
    if named or is_repeated or disposition is None or not media or parameters.keys() - {"charset"}:
        return None
    return _field(disposition["name"], content, media, is_file=disposition["file"] is not None)


def _field(name: str, content: bytes, media: str, *, is_file: bool) -> Field | None:
    if is_file:
        return None if media.startswith("multipart/") else Field(name, None)
    text = _text(content)
    plain = media == "text/plain" or _JSON.fullmatch(media) is not None
    return Field(name, text) if plain and text is not None else None


def _only(fields: tuple[Field, ...] | None, name: str) -> Field | None:
    """The one field of this name, when no other has a name that a server may take for it."""
    found = [each for each in fields or () if alike(each.name, name)]
    return found[0] if len(found) == 1 and found[0].name == name else None


def alike(one: str, other: str) -> bool:
    """Whether two names may be one to a server: ``do`` and ``DO``, ``a.b`` and ``a_b``, ``do`` and ``do[save]``."""
    first, second = _folded(one), _folded(other)
    whole = first == second
    return whole or (("[" not in first or "[" not in second) and _stem(first) == _stem(second))


def _folded(name: str) -> str:
    return re.sub("[ .]", "_", name.strip().casefold())


def _stem(name: str) -> str:
    return name.partition("[")[0]


# JSON


def _text_member(data: object, name: str) -> str | None:
    if not isinstance(data, dict):
        return None
    members = cast("dict[str, object]", data)
    value = members.get(name)
    spelled = [each for each in members if each.casefold() == name.casefold()]
    return value if len(spelled) == 1 and isinstance(value, str) else None


def _json(content_type: str, body: bytes) -> object:
    """What the JSON of a body is; ``None`` when it is none that is read in one way only."""
    media, _ = _content_type(content_type)
    return _parsed(_text(body)) if _JSON.fullmatch(media) is not None else None


def _parsed(text: str | None) -> object:
    try:
        return None if text is None else strict_json(text)
    except (ValueError, RecursionError):
        return None


# GraphQL

#: The members of a request by RFC 8259 and GraphQL over HTTP; with any other, another document may be meant.
_GRAPHQL_MEMBERS: Final = frozenset({"query", "operationName", "variables", "extensions"})
#: Query members that servers read in place of the body's.
_GRAPHQL_QUERY: Final = frozenset(
    {"query", "operationname", "operation", "id", "queryid", "documentid", "doc_id", "extensions"}
)
_KINDS: Final = frozenset({"query", "mutation", "subscription", "fragment"})
_CLOSED_BY: Final = {"(": ")", "[": "]", "{": "}"}

#: No two ways of a repetition begin alike, so that nothing is read in a second way when the first leads nowhere.
_TOKEN: Final = re.compile(
    r"""
      (?P<ignored> [\ufeff\t ,\n\r]+ | \#[^\n\r\x85\u2028\u2029]* )
    | (?P<name>    [_A-Za-z][_0-9A-Za-z]* )
    | (?P<mark>    \.\.\. | [!$&():=@\[\]{|}] )
    | (?P<value>
          -?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![_0-9A-Za-z.])
        | \"\"\"(?:\\\"\"\"|(?!\\?\"\"\").)*\"\"\"
        | (?!\"\"\")"(?:[^"\\\n\r]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]+\}))*" )
    """,
    re.VERBOSE | re.DOTALL,
)


@frozen
class _Definition:
    kind: str
    name: str


def graphql(content_type: str, body: bytes) -> GraphqlOperation | GraphqlRead | None:
    """What a GraphQL request does: the one named mutation, or reads only; ``None`` for everything else. Total.

    A batch only reads when each of its requests does.
    """
    data = _graphql_data(content_type, body)
    if isinstance(data, list):
        kinds = [_requested(each) for each in cast("list[object]", data)]
        return GraphqlRead() if kinds and all(kind == GraphqlRead() for kind in kinds) else None
    return _requested(data)


def _graphql_data(content_type: str, body: bytes) -> object:
    """The JSON of a request, from its body or from the ``operations`` of a form that uploads files beside it."""
    fields = form_fields(content_type, body)
    if fields is None:
        return _json(content_type, body)
    values = {each.name for each in fields if each.value is not None}
    operations = _only(fields, "operations")
    uploads = _content_type(content_type)[0] == "multipart/form-data"
    return _parsed(operations.value) if operations and uploads and values <= {"operations", "map"} else None


def _requested(data: object) -> GraphqlOperation | GraphqlRead | None:
    if not isinstance(data, dict):
        return None
    members = cast("dict[str, object]", data)
    document, selected = members.get("query"), members.get("operationName")
    if not members.keys() <= _GRAPHQL_MEMBERS or _names_another(members.get("extensions")):
        return None
    if not isinstance(document, str) or not isinstance(selected, str | None):
        return None
    return _does(_definitions(document), selected)


def _names_another(extensions: object) -> bool:
    """Whether the extensions name a document that the server may have kept."""
    if not isinstance(extensions, dict):
        return extensions is not None
    return any("persisted" in name.casefold() for name in cast("dict[str, object]", extensions))


def _does(definitions: tuple[_Definition, ...], selected: str | None) -> GraphqlOperation | GraphqlRead | None:
    operations = [each for each in definitions if each.kind != "fragment"]
    writes = [each for each in operations if each.kind != "query"]
    if operations and not writes:
        return GraphqlRead()
    names = [each.name for each in operations]
    named = selected if selected is not None or len(operations) != 1 else names[0]
    if not named or [each for each in writes if each == _Definition("mutation", named)] != writes:
        return None
    return GraphqlOperation(named) if names.count(named) == 1 else None


def _definitions(document: str) -> tuple[_Definition, ...]:
    """The operations and fragments of a document; none when it is no executable document."""
    tokens = _tokens(document)
    found: list[_Definition] = []
    open_until: list[str] = []
    is_between = True
    for each, following in zip(tokens, [*tokens[1:], ""], strict=False):
        if is_between:
            found.append(_definition(each, following))
            is_between = False
        if each in _CLOSED_BY:
            open_until.append(_CLOSED_BY[each])
        elif each in _CLOSED_BY.values():
            if not open_until or open_until.pop() != each:
                return ()
            is_between = each == "}" and not open_until
    is_whole = is_between and all(each.kind in _KINDS for each in found)
    return tuple(found) if is_whole else ()


def _definition(first: str, second: str) -> _Definition:
    """What begins with these tokens; a selection alone is a query."""
    is_named = first in _KINDS and second.isidentifier()
    return _Definition("query" if first == "{" else first, second if is_named else "")


def _tokens(document: str) -> list[str]:
    """The tokens of a document; none when something in it is no token. No value is written as a mark or a name is."""
    tokens: list[str] = []
    at = 0
    while at < len(document) <= _MOST_CHARACTERS:
        found = _TOKEN.match(document, at)
        if found is None:
            return []
        if found.lastgroup != "ignored":
            tokens.append(found[0])
        at = found.end()
    return tokens


# What all have in common


def _content_type(content_type: str) -> tuple[str, dict[str, str]]:
    """The media type in lower case, and the parameters; empty when it has another charset, or is read in two ways."""
    found = _CONTENT_TYPE.fullmatch(content_type)
    pairs = [] if found is None else [(name.lower(), value.strip('"')) for name, value in _PARAMETER.findall(found[2])]
    parameters = dict(pairs)
    if found is None or len(parameters) != len(pairs) or parameters.get("charset", "utf-8").lower() != "utf-8":
        return "", {}
    return found["media"].lower(), parameters


def _text(data: bytes) -> str | None:
    try:
        return data.decode() if len(data) <= _MOST_BYTES else None
    except UnicodeError:
        return None
