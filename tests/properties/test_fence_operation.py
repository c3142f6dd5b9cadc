"""What the fence reads in a body: the operation, where one address serves everything."""

# pyright: reportPrivateUsage=false

import email.parser
import email.policy
import json
import re
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from surehand.core.workflow import operation
from surehand.core.workflow.operation import (
    Content,
    alike,
    form_fields,
    graphql,
    holds,
    named_in_query,
    operations_meet,
)
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, Operation

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
BOUNDARY = "----WebKitFormBoundaryAb1"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
READ, CREATE = GraphqlRead(), GraphqlOperation("Create")

#: Pieces that are the grammar's marks, and what hides them: any text of them is near a document.
PIECES = (
    *("query", "mutation", "subscription", "fragment", "on", "Create", "List", "x"),
    *("{", "}", "(", ")", "[", "]", ":", "=", "@", "$", "!", "...", ",", "|", "&", "."),
    *(
        '"',
        '""',
        '"""',
        "\\",
        '\\"',
        '\\"""',
        "\\u0041",
        "#",
        "\n",
        "\r",
        " ",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x00",
        "-",
        "1",
        "é",
    ),
)
names = st.sampled_from(["Create", "List", "mutation", "query", "on", "_x1"])
hidden = st.sampled_from(["} mutation Create { x", "#", "{", "mutation", "é", ""])
texts = st.one_of(hidden.map(json.dumps), hidden.map(lambda text: f'"""{text}\\""" {text} """'))
gaps = st.one_of(st.just(" "), hidden.map(lambda text: f" #{text}\n"), st.just("\ufeff,\r\n\t"))
values = st.one_of(texts, st.sampled_from(["1", "-0.5e3", "$v", "ENUM", "null", "{a: {b: [1 2]}}", "[]"]))


@st.composite
def selections(draw: st.DrawFn, depth: int = 2) -> str:
    """A selection set, with aliases, arguments, directives and fragments that look like what they are not."""
    fields: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        alias = draw(st.sampled_from(["", "mutation: ", "query :", "... on ", "..."]))
        argument = f"({draw(names)}: {draw(values)})" if draw(st.booleans()) else ""
        inner = draw(selections(depth - 1)) if depth and draw(st.booleans()) else ""
        fields.append(f"{alias}{draw(names)}{argument}{draw(gaps)}{inner}")
    return "{" + draw(gaps).join(fields) + "}"


@st.composite
def definitions(draw: st.DrawFn, kinds: st.SearchStrategy[str]) -> tuple[str, str, str]:
    """The kind, the name and the text of a definition."""
    kind, name = draw(kinds), draw(names)
    gap, body = draw(gaps), draw(selections())
    if kind == "":
        return "query", "", gap + body
    if kind == "fragment":
        return kind, name, f"{gap}fragment{gap}F{gap}on{gap}X{gap}{body}"
    variables = draw(st.sampled_from(["", "($v: [X!]! = {a: {b: 1}})", "@d(x: {})"]))
    return kind, name, f"{gap}{kind}{gap}{name}{variables}{gap}{body}"


reading = st.sampled_from(["query", "fragment", ""])
anything = st.sampled_from(["query", "fragment", "", "mutation", "subscription"])
documents = st.lists(definitions(anything), min_size=1, max_size=4)


def written(parts: list[tuple[str, str, str]]) -> str:
    """The text of a document."""
    return "\n".join(text for _, _, text in parts)


def asks(document: str, **more: object) -> bytes:
    """The body of a request."""
    return json.dumps({"query": document, **more}).encode()


def beginnings(document: str) -> set[str]:
    """The words with which the document begins, or that follow a closed brace outside of everything.

    A second reading of the same grammar, letter by letter: it knows of texts and comments, and of no definitions.
    """
    depth, at, is_first, found = 0, 0, True, set[str]()
    while at < len(document):
        word = re.match("[_A-Za-z0-9]*", document[at:])
        if word is not None and word[0]:
            found |= {word[0]} if is_first and depth == 0 else set()
            is_first, at = False, at + len(word[0])
            continue
        letter = document[at]
        at += _skipped(document[at:])
        depth += (letter in "{([") - (letter in "})]")
        is_first = is_first if letter in "\ufeff\t ,\n\r#" else letter == "}"
    return found


def _skipped(rest: str) -> int:
    """How many letters a comment, a text or a mark takes at the beginning of this."""
    if rest[0] == "#":
        return next((at for at, letter in enumerate(rest) if letter in "\n\r"), len(rest))
    if rest[0] != '"':
        return 1
    quote = '"""' if rest.startswith('"""') else '"'
    escape = '\\"""' if quote == '"""' else "\\"
    at = len(quote)
    while at < len(rest) and not rest.startswith(quote, at):
        at += (len(escape) if quote == '"""' else 2) if rest.startswith(escape, at) else 1
    return at + len(quote)


WRITES = {"mutation", "subscription"}
with_a_write = documents.filter(lambda parts: any(kind in WRITES for kind, _, _ in parts)).map(written)


class TestADocumentWithAWriteIsNoRead:
    """A GraphQL document only reads when every operation in it does, whatever its texts, comments and aliases say."""

    @given(documents)
    def test_it_reads_when_there_are_only_queries(self, parts: list[tuple[str, str, str]]) -> None:
        operations = [kind for kind, _, _ in parts if kind != "fragment"]

        assert (set(operations) == {"query"}) == (graphql(JSON, asks(written(parts))) == READ)

    @given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
    def test_no_text_that_is_near_a_document_hides_one(self, document: str) -> None:
        assert graphql(JSON, asks(document)) != READ or WRITES.isdisjoint(beginnings(document))

    @given(documents.map(written), st.data())
    def test_no_change_of_a_few_letters_hides_one(self, document: str, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(document)))
        rest = document[at + data.draw(st.integers(0, 2)) :]
        changed = document[:at] + data.draw(st.sampled_from([*PIECES, ""])) + rest

        assert graphql(JSON, asks(changed)) != READ or WRITES.isdisjoint(beginnings(changed))

    @pytest.mark.parametrize(
        ("right", "wrong", "document"),
        [
            (r"\#[^\n\r\x85\u2028\u2029]*", r"\#.*", "{x} #\nmutation Create {x}"),
            (
                r"\\\"\"\"|(?!\\?\"\"\").",
                r"(?!\"\"\").",
                '{a(b: ["""\\""" """])} mutation Create {c(d: [""" ])} #"""])}',
            ),
        ],
        ids=["comments that never end", "texts that end early"],
    )
    def test_a_reader_of_other_tokens_is_fooled(self, right: str, wrong: str, document: str) -> None:
        pattern = operation._TOKEN.pattern  # noqa: SLF001 - what is broken here is private
        broken = re.compile(pattern.replace(right, wrong, 1), re.VERBOSE | re.DOTALL)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(operation, "_TOKEN", broken)

            assert READ == graphql(JSON, asks(document))
        assert graphql(JSON, asks(document)) is None

    def test_a_reader_of_the_first_definition_is_caught(self) -> None:
        real = operation._definitions  # noqa: SLF001 - what is broken here is private
        with pytest.MonkeyPatch.context() as patch:

            def first(document: str) -> object:
                return real(document)[:1]

            patch.setattr(operation, "_definitions", first)

            assert find(with_a_write, lambda document: graphql(JSON, asks(document)) == READ)

    def test_a_batch_reads_when_each_of_its_requests_does(self) -> None:
        read, write = {"query": "{a}"}, {"query": "mutation Create {a}"}
        batches = [[read], [read, read], [read, write], [write], [], [[read]], [read, None]]

        assert [READ, READ, None, None, None, None, None] == [
            graphql(JSON, json.dumps(batch).encode()) for batch in batches
        ]


class TestTheOneMutation:
    """A GraphQL mutation is known by its name when it is the one that runs, and nothing else in the request writes."""

    @given(documents, st.one_of(st.none(), names))
    def test_it_is_the_selected_one(self, parts: list[tuple[str, str, str]], selected: str | None) -> None:
        operations = [(kind, name) for kind, name, _ in parts if kind != "fragment"]
        writes = [name for kind, name in operations if kind in WRITES]
        runs = selected if selected is not None or len(operations) != 1 else operations[0][1]
        is_alone = [("mutation", runs)] == [each for each in operations if each[0] in WRITES or each[1] == runs]

        expected = GraphqlOperation(runs) if runs and writes and is_alone else None
        assert expected == (None if not writes else graphql(JSON, asks(written(parts), operationName=selected)))

    @pytest.mark.parametrize(
        "body",
        [
            asks("mutation Create {x} mutation Other {x}", operationName="Create"),
            asks("query Create {x} mutation Create {x}", operationName="Create"),
            asks("mutation Create {x} subscription S {x}", operationName="Create"),
            asks("mutation Other {Create: x}", operationName="Create"),
            asks("mutation Create {x} query Q {x}", operationName="Q"),
            asks("mutation Create {x} query Q {x}"),
            asks("mutation Create {x}", operationName=""),
            asks("mutation Create {x}", operationName=7),
            asks("mutation {x}"),
            asks("#mutation Create {x}"),
            asks("type Create {x: Int}"),
            asks("mutation Create {x"),
            asks("mutation Create {x}}"),
            asks("mutation Create {x(a: 1]}"),
            asks("mutation Create {x(a: [1)}"),
            asks("{x(a: [1)}"),
            asks("{x}", operationName=7),
            asks("mutation Create {x}", id="kept"),
            asks("mutation Create {x}", extensions={"persistedQuery": {"sha256Hash": "0"}}),
            asks("mutation Create {x}", extensions={"a": 1, "persistedQuery": {"sha256Hash": "0"}, "b": 2}),
            asks("mutation Create {x}", extensions="?"),
            asks("mutation Create {x}", QUERY="{x}"),
            json.dumps([{"query": "mutation Create {x}"}]).encode(),
            json.dumps({"operationName": "Create"}).encode(),
            b'{"query": "{x}", "query": "mutation Create {x}"}',
            b'{"query": "mutation Create {x}", "variables": {"a": 1, "a": 2}}',
            b'{"query": "mutation Create {x}", "variables": NaN}',
            b'\xef\xbb\xbf{"query": "mutation Create {x}"}',
            '{"query": "mutation Create {x}"}'.encode("utf-16"),
            b"query=mutation+Create+{x}",
            b"null",
            b"",
        ],
    )
    def test_anything_else_is_none(self, body: bytes) -> None:
        assert graphql(JSON, body) is None
        assert (False, False) == (holds(CREATE, JSON, body), holds(READ, JSON, body))

    @pytest.mark.parametrize(
        "body",
        [
            asks("mutation Create {x}"),
            asks("mutation Create($v: X) {x} query Q {x}", operationName="Create", variables={"v": {"query": "{x}"}}),
            asks("mutation Create($v: X) {x}"),
            asks("mutation Create {x}", operationName="Create", variables={}, extensions={}),
            asks("mutation Create {x}", operationName=None, extensions={"clientLibrary": {"name": "x"}}),
            asks("fragment F on X {y} mutation Create {...F}", extensions=None),
        ],
    )
    def test_what_clients_send_is_known(self, body: bytes) -> None:
        assert holds(CREATE, JSON, body)
        assert not holds(GraphqlOperation("create"), JSON, body)

    def test_a_document_too_long_to_be_read_is_none(self) -> None:
        longest = 256 * 1024

        assert [True, False] == [holds(READ, JSON, asks("{x}".ljust(size, "#"))) for size in (longest, longest + 1)]
        assert not holds(READ, JSON, asks("{x}", variables={"v": "x" * 5_000_000}))
        assert not holds(READ, JSON, b"[" * 100_000)


def part(name: str, value: str, *headers: str, file: str | None = None) -> str:
    """One part of a form in several parts."""
    named = f'; filename="{file}"' if file is not None else ""
    lines = [f'Content-Disposition: form-data; name="{name}"{named}', *headers]
    return "\r\n".join([f"--{BOUNDARY}", *lines, "", value, ""])


def parts(*pieces: str, end: str = f"--{BOUNDARY}--\r\n") -> bytes:
    """A form in several parts."""
    return ("".join(pieces) + end).encode()


SAVE = FormField("do[save]", "1")
A_FILE = part("f", "\x00PK\r\n", "Content-Type: x/y", file="a.bin")
FORM_NAMES = st.sampled_from(["do", "do[save]", "do[draft]", "DO", "do.x", "a b", "ü", "a=b", ""])
fields = st.lists(st.tuples(FORM_NAMES, st.text(st.characters(codec="utf-8"), max_size=5)), max_size=5)


class TestFormsAreReadInOneWay:
    """A form holds a field that is there once, with its value; a form that servers read differently holds none."""

    @given(fields)
    def test_an_encoded_form_is_what_others_read(self, given_fields: list[tuple[str, str]]) -> None:
        body = urlencode(given_fields).encode()
        read = form_fields(FORM, body)

        assert read is not None
        assert [*parse_qsl(body.decode(), keep_blank_values=True)] == [(each.name, each.value) for each in read]

    @given(fields, FORM_NAMES, st.one_of(st.none(), st.text(max_size=3)))
    def test_a_field_is_there_once(self, given_fields: list[tuple[str, str]], name: str, value: str | None) -> None:
        values = [text for each, text in given_fields if each == name]
        near = [each for each, _ in given_fields if each != name and each.casefold()[:2] == name.casefold()[:2]]
        expected = len(values) == 1 and value in (None, values[0])

        if not near:
            assert expected == holds(FormField(name, value), FORM, urlencode(given_fields).encode())

    @pytest.mark.parametrize(
        "body",
        [
            "do[save]=1",
            "do%5Bsave%5D=1&x=2&x=3&&y",
            "x=%26do%5Bsave%5D=2&do[save]=%31",
        ],
    )
    def test_the_field_is_found(self, body: str) -> None:
        assert holds(SAVE, FORM, body.encode())
        assert holds(FormField("do[save]"), f"{FORM}; charset=UTF-8", body.encode())

    @pytest.mark.parametrize(
        "body",
        [
            "do[save]=1&do[save]=1",
            "do[save]=1&do%5Bsave%5D=2",
            "do[save]=1&DO[SAVE]=2",
            "do[save]=1&do=2",
            "do[save]=1&+do[save]=2",
            "do[save]=2",
            "do[save]",
            "do[save]=1;do[draft]=1",
            "do[save]=1&x=2;y=3",
            "do[save]=1&%zz=2",
            "do[save]=1&x=%zz",
            "do[save]=1&x=%ff",
            "do[save]=1&do[save]%00=2",
            "do[save]=1&_charset_=utf-7",
            "x=do[save]=1",
            "&" * 3_000 + "do[save]=1",
            "do[save]=1&" + "x=" + "x" * 5_000_000,
            "",
        ],
    )
    def test_a_twin_or_a_doubt_holds_nothing(self, body: str) -> None:
        assert not holds(SAVE, FORM, body.encode())

    @pytest.mark.parametrize(
        "content_type",
        [
            f"{FORM}; charset=utf-16",
            f"{FORM}; charset=utf-8; charset=utf-7",
            f"{FORM}; charset=utf-7; charset=utf-8",
            f"{FORM}; charset=~utf-8",
            f"{FORM}, text/plain",
            "text/plain",
            JSON,
            MULTIPART,
            MULTIPART.replace("form-data", "mixed"),
            "multipart/form-data",
            "",
        ],
    )
    def test_another_type_holds_nothing(self, content_type: str) -> None:
        assert not holds(SAVE, content_type, b"do[save]=1")
        assert content_type == MULTIPART or not holds(SAVE, content_type, parts(part("do[save]", "1")))

    @pytest.mark.parametrize(
        ("one", "other", "expected"),
        [
            ("do", "do", True),
            ("do", "DO", True),
            ("a.b", "a_b", True),
            ("do", "do[save]", True),
            ("do[save]", "do[save]", True),
            ("do[save]", "do[draft]", False),
            ("do", "done", False),
        ],
    )
    def test_names_that_a_server_may_take_for_one(self, one: str, other: str, *, expected: bool) -> None:
        assert (expected, expected) == (alike(one, other), alike(other, one))

    @pytest.mark.parametrize(("body", "expected"), [("do[draft]=2&do[save]=1", True), ("DO[save]=1", False)])
    def test_a_neighbour_is_no_twin_and_a_likeness_is_not_the_field(self, body: str, *, expected: bool) -> None:
        assert [expected, expected] == [holds(field, FORM, body.encode()) for field in (SAVE, FormField("do[save]"))]

    @pytest.mark.parametrize(("more", "expected"), [(1_999, True), (2_000, False)])
    def test_a_form_has_so_many_fields_at_the_most(self, more: int, *, expected: bool) -> None:
        encoded = ("do[save]=1" + "&x=1" * more).encode()
        in_parts = parts(part("do[save]", "1"), *[part("x", "1")] * more)

        assert [expected, expected] == [holds(SAVE, FORM, encoded), holds(SAVE, MULTIPART, in_parts)]

    @pytest.mark.parametrize(("size", "expected"), [(4 * 1024 * 1024, True), (4 * 1024 * 1024 + 1, False)])
    def test_a_body_has_so_many_bytes_at_the_most(self, size: int, *, expected: bool) -> None:
        assert expected == holds(SAVE, FORM, b"do[save]=1&x=".ljust(size, b"x"))

    def test_no_value_is_shown(self) -> None:
        body = b"do=secret"
        content = Content(FORM, body)

        assert content.holds(FormField("do"))
        assert "secret" not in repr((content, form_fields(FORM, body)))


class TestFormsInParts:
    """A form in several parts is read only where every delimiter and every header stands as RFC 7578 has it."""

    @pytest.mark.parametrize(
        "body",
        [
            parts(part("do[save]", "1")),
            parts(part("x", "y\r\n\r\nz"), part("do[save]", "1"), A_FILE, part("x", "")),
            parts(part("do[save]", "1", "Content-Type: text/plain; charset=UTF-8"), end=f"--{BOUNDARY}--"),
        ],
    )
    def test_the_field_is_found(self, body: bytes) -> None:
        assert holds(SAVE, MULTIPART, body)
        assert holds(FormField("do[save]"), f'Multipart/Form-Data; charset=utf-8; Boundary="{BOUNDARY}"', body)

    @pytest.mark.parametrize(
        "body",
        [
            parts(part("do[save]", "1"), part("do[save]", "1")),
            parts(part("do[save]", "1"), part("do", "1")),
            parts(part("do[save]", "1", file="a.bin")),
            parts(part("do[save]", "1"), part("do[save]", "1", file="a.bin")),
            parts(part("do[save]", "1", 'Content-Disposition: form-data; name="x"')),
            parts(part("do[save]", "1", "Content-Transfer-Encoding: base64")),
            parts(part("do[save]", "1", "Content-Type: multipart/mixed; boundary=x")),
            parts(part("do[save]", "1", "Content-Type: text/plain; charset=utf-7")),
            parts(part("do[save]", "1", "Content-Type: text/plain", "Content-Type: text/plain")),
            parts(part("do[save]", "1", "Content-Type: text/plain; name=c")),
            parts(part("do[save]", "1"), part("f", "", "Content-Type: multipart/mixed; boundary=x", file="f")),
            parts(part("do[save]", "1"), part("f", "", "Content-Type: ?", file="f")),
            parts(part('do[save]"; name="x', "1")),
            parts(part("do[save]", "1"), part('x\\"', "1")),
            parts(part("do[save]", "1"), part("x%22", "1")),
            parts(part("do[save]", "1"), part("x", "1", file='a"; x="')),
            parts(part("do[save]", "1"), part("x", f"\n--{BOUNDARY}\nContent-Disposition: form-data")),
            parts(part("do[save]", "1"), part("x", f"--{BOUNDARY}")),
            parts(part("do[save]", "1"), f"--{BOUNDARY}--\r\n", part("x", "1")),
            parts("before\r\n", part("do[save]", "1")),
            parts(part("do[save]", "1"), end=f"--{BOUNDARY}--\r\nbehind"),
            parts(part("do[save]", "1"), end=""),
            parts(part("do[save]", "1"), end=f"--{BOUNDARY} --\r\n"),
            parts(part("do[save]", "1").replace("\r\n", "\n")),
            parts(part("do[save]", "1").replace(": ", ":", 1)),
            parts(part("do[save]", "y")).replace(b"y\r\n", b"\xff\r\n"),
            parts(part("do[save]", "1"), *[part("x", "1")] * 2_001),
            b"",
        ],
    )
    def test_a_twin_or_a_doubt_holds_nothing(self, body: bytes) -> None:
        assert not holds(SAVE, MULTIPART, body)

    @pytest.mark.parametrize(
        "body",
        [
            parts(part("do[save]", "1").replace("\r\n", "xx", 1)),
            parts(part("do[save]", "1xx").removesuffix("\r\n")),
            parts(part("do[save]", "").removesuffix("\r\n\r\n")),
            parts(part("do[save]", "1", "Content-Type: ?")).replace(b"?", b"\xff"),
            parts(part("do[save]", "y")).replace(b"y\r\n", b"\xff\r\n"),
        ],
    )
    def test_a_part_in_doubt_is_no_field_of_any_value(self, body: bytes) -> None:
        assert form_fields(MULTIPART, body) is None

    @pytest.mark.parametrize("boundary", ["", "x" * 71, '"a b"', '"é"', f"{BOUNDARY}; boundary=x"])
    def test_a_boundary_in_doubt_holds_nothing(self, boundary: str) -> None:
        content_type = f"multipart/form-data; boundary={boundary}"

        assert (
            form_fields(content_type, parts(part("do[save]", "1")).replace(BOUNDARY.encode(), boundary.encode()))
            is None
        )

    @given(st.data())
    def test_no_change_of_a_few_letters_is_read_otherwise_than_elsewhere(self, data: st.DataObject) -> None:
        body = parts(part("a", "1"), A_FILE, part("b", "2", "Content-Type: text/plain"))
        at = data.draw(st.integers(0, len(body)))
        piece = data.draw(
            st.sampled_from(["", "\r\n", "\n", "\r", "--", f"--{BOUNDARY}", '"', "; name=c", ":", " ", "\x00"])
        )
        changed = body[:at] + piece.encode() + body[at + data.draw(st.integers(0, 3)) :]
        read = form_fields(MULTIPART, changed)

        assert read is None or [(each.name, each.value) for each in read] == _elsewhere(changed)

    def test_a_reader_that_takes_any_delimiter_would_differ(self) -> None:
        twins = parts(part("a", f"1\n--{BOUNDARY}\n" + 'Content-Disposition: form-data; name="b"\n\n2'))

        assert ["a", "b"] == [name for name, _ in _elsewhere(twins)]
        assert form_fields(MULTIPART, twins) is None

    def test_an_upload_by_graphql_is_known_by_its_operations(self) -> None:
        create, query = (asks(text).decode() for text in ("mutation Create {x}", "{x}"))
        bodies = [
            parts(part("operations", create), part("map", "{}"), A_FILE),
            parts(part("operations", query), part("map", "{}")),
            parts(part("operations", f"[{query}]", f"Content-Type: {JSON}"), part("map", "{}"), A_FILE),
            parts(part("operations", create), part("query", "{x}")),
            parts(part("operations", create), part("operations", query)),
            parts(part("operations", query, file="f")),
            parts(part("map", "{}")),
        ]

        assert [CREATE, READ, READ, None, None, None, None] == [graphql(MULTIPART, body) for body in bodies]
        assert graphql(FORM, urlencode({"operations": query}).encode()) is None


def _elsewhere(body: bytes) -> list[tuple[str, str | None]]:
    """The fields as the standard library reads them, which takes more than it should."""
    head = f"Content-Type: {MULTIPART}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    found: list[tuple[str, str | None]] = []
    for each in message.iter_parts():
        name = each.get_param("name", header="content-disposition")
        raw = each.get_payload(decode=True)
        is_file = each.get_filename() is not None
        found.append((str(name), None if is_file or not isinstance(raw, bytes) else raw.decode()))
    return found


CALL = JsonMember("method", "call")


class TestJsonMembers:
    """A JSON object holds a member when it is there once, whatever its letters, and is exactly this text."""

    @pytest.mark.parametrize("content_type", [JSON, f"{JSON};charset=utf-8", "application/vnd.api+json", "text/json"])
    def test_the_member_is_found(self, content_type: str) -> None:
        assert holds(CALL, content_type, b'{"jsonrpc": "2.0", "method": "c\\u0061ll", "params": {"method": "x"}}')

    @pytest.mark.parametrize(
        "body",
        [
            '{"method": "call", "method": "call"}',
            '{"method": "call", "Method": "save"}',
            '{"method": "call", "params": {"a": 1, "a": 2}}',
            '{"Method": "call"}',
            '{"method": ["call"]}',
            '[{"method": "call"}]',
            '{"params": {"method": "call"}}',
            '{"method": "call"} {"method": "save"}',
            '{"method": "call", "x": Infinity}',
            "{'method': 'call'}",
            '"method"',
        ],
    )
    def test_a_twin_or_a_doubt_holds_nothing(self, body: str) -> None:
        assert not holds(CALL, JSON, body.encode())

    @pytest.mark.parametrize("content_type", ["text/plain", FORM, f"{JSON}; charset=utf-16", f"{JSON}, {JSON}", "json"])
    def test_another_type_holds_nothing(self, content_type: str) -> None:
        assert not holds(CALL, content_type, b'{"method": "call"}')


OPERATIONS: tuple[Operation, ...] = (
    *(READ, CREATE, GraphqlOperation("List")),
    *(FormField("do"), FormField("do", "1"), FormField("do", "2"), FormField("operations"), FormField("do[save]")),
    *(JsonMember("method", "call"), JsonMember("method", "save"), JsonMember("operationName", "Create")),
)
operations = st.sampled_from(OPERATIONS)
bodies = st.one_of(
    st.binary(max_size=40),
    documents.map(lambda each: asks(written(each))),
    st.sampled_from(["Create", "List"]).map(lambda name: asks(f"mutation {name} {{x}}", operationName=name)),
    fields.map(lambda each: urlencode(each).encode()),
    fields.map(lambda each: parts(*(part(name, text) for name, text in each))),
    st.just(parts(part("operations", '{"query": "{x}"}'), part("map", "{}"))),
    st.dictionaries(st.sampled_from(["method", "query", "do"]), st.sampled_from(["call", "save", "{x}"])).map(
        lambda each: json.dumps(each).encode()
    ),
)
content_types = st.one_of(st.sampled_from([JSON, FORM, MULTIPART]), st.text(max_size=30))


class TestAnyBodyIsRead:
    """Whatever a body is, it is read without an exception; what it holds is told apart as the routes are."""

    @given(operations, content_types, bodies)
    def test_there_is_an_answer(self, one: Operation, content_type: str, body: bytes) -> None:
        assert holds(one, content_type, body) in (True, False)

    @given(operations, operations, content_types, bodies)
    def test_operations_that_one_body_holds_meet(
        self, one: Operation, other: Operation, content_type: str, body: bytes
    ) -> None:
        assert operations_meet(one, other) or not (holds(one, content_type, body) and holds(other, content_type, body))

    @given(operations | st.none(), operations | st.none())
    def test_meeting_has_no_direction(self, one: Operation | None, other: Operation | None) -> None:
        assert operations_meet(one, other) == operations_meet(other, one)

    def test_those_that_no_body_can_hold_do_not_meet(self) -> None:
        apart = [(one, other) for one in OPERATIONS for other in OPERATIONS if not operations_meet(one, other)]

        assert len(apart) == 2 * (3 + 1 + 1)
        assert not operations_meet(READ, CREATE)
        assert operations_meet(None, CREATE)
        assert operations_meet(FormField("do"), FormField("do", "1"))

    @pytest.mark.parametrize(
        ("one", "names_of_query"),
        [
            (
                READ,
                ["query", "OperationName", "operation", "id", "queryId", "documentId", "doc_id", "extensions"],
            ),
            (FormField("a.b"), ["a.b", "A_B", " a.b"]),
            (CALL, ["method"]),
        ],
    )
    def test_a_query_may_say_it_too(self, one: Operation, names_of_query: list[str]) -> None:
        assert all(named_in_query(one, name) for name in names_of_query)
        assert not named_in_query(one, "languageCode")
