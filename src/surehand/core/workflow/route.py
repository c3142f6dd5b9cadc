"""One kind of write request, and how it is told from others to the same address.

Laws of this module:

- A route is structure: method, templates and names. It holds no value that anybody typed.
- Where one address serves everything, the operation in the body tells routes apart.
"""

from typing import Annotated

from attrs import field, frozen

from surehand.core.schema import Items, Text
from surehand.core.workflow.target import OriginText, Path, QueryPart

OperationName = Annotated[str, Text(min_length=1, max_length=200)]


@frozen
class GraphqlOperation:
    """A GraphQL request whose operation is the mutation of exactly this name, and that holds no other write."""

    name: OperationName


@frozen
class GraphqlRead:
    """A GraphQL request whose whole document only queries."""


@frozen
class FormField:
    """A form that holds a field of this name; with ``value``, exactly this one."""

    name: OperationName
    value: OperationName | None = None


@frozen
class JsonMember:
    """A JSON object whose member of this name is exactly this text, as in JSON-RPC."""

    name: OperationName
    value: OperationName


Operation = GraphqlOperation | GraphqlRead | FormField | JsonMember


@frozen
class WriteRoute:
    """One kind of write request.

    ``path`` is a template (``*`` is one segment), ``content_type`` stands without parameters and is empty for a request
    without a body. Every member of ``query`` must be there once, with its value or with any (``*``); others may be.
    With ``operation``, the body must hold it. ``origin`` is the one server that the request goes to; without it, any of
    the app's. ``method`` is the one that the app asks for: a POST that a header turns into a PUT is a PUT.
    """

    method: Annotated[str, Text(pattern="^(POST|PUT|PATCH|DELETE)$")]
    path: Path
    content_type: Annotated[str, Text(pattern="^([a-z0-9.+-]+/[a-z0-9.+-]+)?$")]
    query: Annotated[tuple[QueryPart, ...], Items(max_items=10)] = field(default=())
    operation: Operation | None = None
    origin: OriginText | None = None
