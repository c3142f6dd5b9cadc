"""Where the saved record is read: the other channel of a read-back.

Laws of this module:

- A source says where records are and how each is told from the others; what they must hold is said elsewhere.
- Every member is read as text, in full. A member that is absent is the empty text.
"""

from typing import Annotated

from attrs import frozen

from surehand.core.schema import Items, Text
from surehand.core.workflow.target import Identifier, PageGate, Path, Target

MemberName = Annotated[str, Text(min_length=1, max_length=100)]


@frozen
class JsonRecords:
    """A GET of the app that answers with JSON.

    ``items`` is the dotted path to the list of records, empty for an answer that is the list, or that is one record; a
    last ``*`` in it is every member of an object, for records that stand by their keys.
    ``key`` is the member that tells records apart. A nested member has a dotted name. ``detail`` is the path of one
    record (``*`` is its key), read where the list does not show every member.
    """

    path: Path
    items: Annotated[str, Text(max_length=100)]
    key: MemberName
    detail: Path | None = None


@frozen
class PageField:
    """One member of a record, as a page shows it: a text, or what a field holds."""

    name: MemberName
    target: Target


@frozen
class PageRecords:
    """A page that lists links to records, and the page of each record, in a fresh browser context.

    ``link`` is the path of a record's page, where ``*`` is its key. The list shows which records are there; the pages
    of those that are new are read.
    """

    path: Path
    landmark: Target
    link: Path
    record: PageGate
    fields: Annotated[tuple[PageField, ...], Items(max_items=100)]


@frozen
class RecordPage:
    """The page of the one record that the inputs name (``{name}`` in the path), in a fresh browser context."""

    path: Path
    record: PageGate
    fields: Annotated[tuple[PageField, ...], Items(max_items=100)]


@frozen
class DatabaseRecords:
    """A view of a database that the operator connected under this name; ``key`` and ``columns`` are its columns."""

    connection: Identifier
    view: Annotated[str, Text(pattern="^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
    key: Annotated[str, Text(pattern="^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
    columns: Annotated[tuple[Annotated[str, Text(pattern="^[A-Za-z_][A-Za-z0-9_]{0,62}$")], ...], Items(max_items=100)]


Source = JsonRecords | PageRecords | RecordPage | DatabaseRecords
