"""A small workflow of somebody's own app, and its folder."""

from typing import Final

from attrs import evolve

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.workflow.bundle import (
    Bundle,
    ChooseStep,
    ClickStep,
    FillStep,
    IdentityField,
    OpenStep,
    ReadBack,
    ReadField,
    Rule,
    SaveStep,
)
from surehand.core.workflow.manifest import Materials, Protection, workflow_text
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import Constant, FromInput, PageGate, Target, TargetKind

ON_FORM: Final = PageGate("/orders/new", Target(TargetKind.ROLE, "New order", "heading"))

#: A workflow that satisfies every policy and profile, apart from how its folder is kept.
OWN: Final = Bundle(
    workflow="add_order",
    title="Add an order",
    parameters=(
        Parameter(name="number", type=ParameterType.IDENTIFIER, title="Number", min_length=1),
        Parameter(name="customer", type=ParameterType.LINE, title="Customer", min_length=1),
        Parameter(name="size", type=ParameterType.CHOICE, title="Size", choices=("small", "large")),
    ),
    steps=(
        OpenStep("open_form", "/orders/new"),
        FillStep("enter_number", ON_FORM, Target(TargetKind.LABEL, "Number"), FromInput("number"), Rule.IDENTIFIER),
        ChooseStep("choose_size", ON_FORM, Target(TargetKind.LABEL, "Size"), FromInput("size")),
    ),
    identity=(
        IdentityField(Target(TargetKind.TEST_ID, "number"), FromInput("number"), Rule.IDENTIFIER, unique=True),
        IdentityField(Target(TargetKind.TEST_ID, "customer"), FromInput("customer"), Rule.TEXT, unique=False),
    ),
    save=SaveStep(
        "save",
        ON_FORM,
        Target(TargetKind.ROLE, "Save", "button"),
        WriteRoute("POST", "/orders", "application/x-www-form-urlencoded"),
    ),
    read_back=ReadBack(
        level=CheckLevel.SEPARATE_SESSION,
        minimum=CheckLevel.SEPARATE_SESSION,
        source=JsonRecords("/api/orders", "orders", "id"),
        identity=(ReadField("customer", FromInput("customer"), Rule.TEXT),),
        written=(
            ReadField("number", FromInput("number"), Rule.IDENTIFIER),
            ReadField("size", FromInput("size"), Rule.CHOICE),
        ),
        deadline_ms=1000,
        interval_ms=100,
    ),
    origins=("https://orders.example",),
    business_key=("number",),
)

#: The same with something in it that a policy may ask to be otherwise, each by its own name.
LESS: Final = {
    "read_back_incomplete": evolve(
        OWN,
        read_back=evolve(OWN.read_back, identity=(ReadField("kind", Constant("order"), Rule.TEXT),)),
        identity=(OWN.identity[0], evolve(OWN.identity[1], unique=True)),
    ),
    "read_back_too_weak": evolve(
        OWN, read_back=evolve(OWN.read_back, level=CheckLevel.SAME_PAGE, minimum=CheckLevel.SAME_PAGE)
    ),
    "duplicate_guard_missing": evolve(OWN, business_key=()),
    "sockets_open": evolve(OWN, sockets=("/live",)),
    "transport_not_protected": evolve(OWN, origins=("http://orders.example",)),
}

#: One workflow more, to compare with.
OTHER: Final = evolve(
    OWN,
    steps=(*OWN.steps, ClickStep("preview", ON_FORM, Target(TargetKind.ROLE, "Preview", "button"))),
)

CARD: Final = b'{"schema": "surehand.card/v1", "purpose": "Adds one order.", "done_means": "The order is there."}\n'

MATERIALS: Final = Materials(workflow=workflow_text(OWN), card=CARD)
PASSPHRASE: Final = b"a passphrase of invented words"
SECRET: Final = bytes(range(32))
PLAIN: Final = Protection(passphrase=None, salt=b"s" * 16, signer=None)
FULL: Final = Protection(passphrase=PASSPHRASE, salt=b"s" * 16, signer=SECRET)
