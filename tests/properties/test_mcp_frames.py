"""Frames: what is read is what was said, and the id of an unreadable message is its own or none."""

import json

from hypothesis import assume, example, given
from hypothesis import strategies as st

from surehand.shell.mcp.frames import (
    EDGE_BYTES,
    MAX_DEPTH,
    Fault,
    decode,
    edge_id,
    encode,
    has_legal_id,
    id_of,
    is_object,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | FINITE | st.text()
NAMES = st.text(max_size=8) | st.sampled_from(["id", "jsonrpc", "method", "params", 'a","id":5', '{"id":5}'])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))
MESSAGES = st.dictionaries(NAMES, VALUES, max_size=6)
IDS = st.integers() | st.text(max_size=20) | st.none() | st.booleans() | FINITE
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])


class TestWhatIsReadIsWhatWasSaid:
    """Nothing is changed on the way in or out, and a line out is ASCII with one end."""

    @given(MESSAGES, st.booleans())
    def test_a_message_survives_the_way_out_and_in(self, message: dict[str, object], escaped: bool) -> None:
        try:
            line = json.dumps(message, ensure_ascii=escaped).encode()
        except UnicodeEncodeError:
            assume(False)
            raise

        assert decode(line) == message
        assert decode(encode(message)) == message

    @given(MESSAGES)
    def test_a_line_out_is_one_line_of_ascii(self, message: dict[str, object]) -> None:
        line = encode(message)

        assert line.isascii()
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1

    @given(st.binary(max_size=200))
    @example(b'{"a":1,"a":1}')
    @example(b'{"id":7,"a":NaN}')
    @example(b'{"a":1e400}')
    @example(b"[" * 5_000)
    @example(b'{"a":' * 2_000)
    def test_any_bytes_are_an_object_or_a_fault(self, line: bytes) -> None:
        read = decode(line)

        assert isinstance(read, Fault) or is_object(read)

    @given(MESSAGES, NAMES)
    def test_a_duplicate_name_is_a_fault_under_the_messages_id(self, message: dict[str, object], name: str) -> None:
        assume(name != "id")
        text = json.dumps({**message, name: 1})
        doubled = text[:-1] + "," + json.dumps(name) + ":1}"
        read = decode(doubled.encode())

        assert isinstance(read, Fault)
        assert read.request_id == id_of(message)

    @given(st.integers(1, 2 * MAX_DEPTH))
    def test_depth_is_refused_exactly_above_the_limit(self, depth: int) -> None:
        line = b'{"a":' * (depth - 1) + b'{"a":0}' + b"}" * (depth - 1)

        assert isinstance(decode(line), Fault) is (depth > MAX_DEPTH)


class TestAnAnswerGoesToTheRightRequest:
    """The id that is found at the edges of a message is the message's own, or none is found."""

    @given(MESSAGES, IDS, SEPARATORS, st.booleans())
    @example({"params": {"id": 5}}, 7, (",", ":"), True)
    @example({"params": ',"id":5}'}, 7, (",", ":"), True)
    @example({"params": [{"id": 5}]}, 7, (",", ":"), False)
    def test_an_id_at_an_edge_is_the_messages_id(
        self, message: dict[str, object], given_id: object, separators: tuple[str, str], first: bool
    ) -> None:
        rest = {name: value for name, value in message.items() if name != "id"}
        whole = {"id": given_id, **rest} if first else {**rest, "id": given_id}
        line = json.dumps(whole, separators=separators).encode()
        found = edge_id(line[:EDGE_BYTES], line[-EDGE_BYTES:])

        assert found is None or found == given_id
        assert found is None or type(found) is type(given_id)

    @given(MESSAGES)
    def test_a_message_without_an_id_has_none_at_its_edges(self, message: dict[str, object]) -> None:
        line = json.dumps({name: value for name, value in message.items() if name != "id"}).encode()

        assert edge_id(line[:EDGE_BYTES], line[-EDGE_BYTES:]) is None

    @given(IDS)
    def test_an_id_that_a_library_could_coerce_is_no_legal_id(self, given_id: object) -> None:
        legal = isinstance(given_id, int | str) and not isinstance(given_id, bool)

        assert has_legal_id({"id": given_id}) is legal
