"""The pages of the console.

Laws of this module:

- A page is a function of its arguments, and every value is escaped on its way into it.
- What is shown of a stopped run is a card. Nothing here decides what a card says.
- Every page can be read without a script; a script only saves a person from loading it again.
"""

import secrets
from collections.abc import Iterable
from typing import Final

from surehand.core.attention.console import Card, Choice, Weight, told, why
from surehand.core.attention.decision import Receipt
from surehand.core.attention.evidence import LocalEvidence, Values
from surehand.core.attention.pause import WAITING, AttentionItem, AttentionPage, DeliveryState, ItemStatus
from surehand.shell.markup import NOTHING, Html, Templates, join, static_files

_PACKAGE: Final = "surehand.shell.console"
_FILL: Final = Templates(_PACKAGE).fill

#: The files that the pages load, by name, with their media types.
STATIC_FILES: Final = static_files(_PACKAGE, {"console.css": "text/css", "console.js": "text/javascript"})

NOT_THE_NEWEST: Final = "That address was used before, or is not the newest. The terminal shows the one that is valid."

_MESSAGES: Final = {
    403: ("Not here", "This page is for the person who started the console. Its address stands in the terminal."),
    404: ("Not found", "There is no such page or stopped run here."),
    503: ("No answer", "The ledger cannot be read now. `surehand doctor` says why."),
}
_OTHERWISE: Final = ("Refused", "Nothing was done.")

_STATUS: Final[dict[ItemStatus, str]] = {
    ItemStatus.OPEN: "Waits for you",
    ItemStatus.IN_PROGRESS: "Being carried out",
    ItemStatus.EXPIRED: "Time is over",
    ItemStatus.SUPERSEDED: "Stopped again",
    ItemStatus.REJECTED: "Rejected",
    ItemStatus.COMPLETED: "Saved and checked",
    ItemStatus.RECONCILED: "Read again",
    ItemStatus.DELIVERY_UNCERTAIN: "Not sure if saved",
    ItemStatus.OVER: "Over",
}

_DELIVERY: Final[dict[DeliveryState, str]] = {
    DeliveryState.NOT_DELIVERED: "Nothing was sent",
    DeliveryState.DELIVERED: "The save was sent",
    DeliveryState.UNKNOWN: "A save may have been sent",
}


def sign_in(problem: str = "") -> str:
    """The page for whoever is not known yet."""
    return _page("Sign in", "sign-in", _FILL("sign_in", problem=_banner(problem)), proof="")


def message(status: int) -> str:
    """A page that only says something."""
    title, text = _MESSAGES.get(status, _OTHERWISE)
    return _page(title, "message", _FILL("message", title=title, text=text), proof="")


def queue(page: AttentionPage, *, proof: str, mark: str) -> str:
    """The stopped runs.

    Args:
        page: What is shown of the queue.
        proof: The proof of the session.
        mark: What the page compares itself with.
    """
    rows = join(_row(item) for item in page.items) if page.items else _FILL("empty")
    more = NOTHING if page.next is None else _FILL("more", after=page.next)
    content = _FILL("queue", count=_counted(len(page.items), more=page.next is not None), rows=rows, more=more)
    return _page("Stopped runs", "queue", content, proof=proof, mark=mark)


def item(shown: Card, workflow: str, *, proof: str, mark: str, refused: Receipt | None) -> str:
    """One stopped run.

    Args:
        shown: The run.
        workflow: The name of its workflow.
        proof: The proof of the session.
        mark: What the page compares itself with.
        refused: The receipt of a decision that was just refused.
    """
    of_item = shown.item
    content = _FILL(
        "item",
        headline=of_item.headline,
        question=_FILL("question", text=of_item.question if of_item.status in WAITING else shown.standing),
        status=_status(of_item),
        workflow=workflow or "not known",
        run=of_item.run_id,
        item=of_item.id,
        stopped=_time(of_item.created_at),
        delivery=_DELIVERY[of_item.delivery_state],
        earlier=_earlier(of_item),
        rechecks=_rechecks(shown),
        results=_results(shown, refused),
        evidence=_evidence(shown),
        choices=_choices(shown, proof),
    )
    return _page(of_item.headline, "item", content, proof=proof, mark=mark)


# Parts.


def _row(of: AttentionItem) -> Html:
    return _FILL(
        "row",
        item=of.id,
        headline=of.headline,
        delivery=_DELIVERY[of.delivery_state],
        stopped=_time(of.created_at),
        status=_status(of),
    )


def _status(of: AttentionItem) -> Html:
    return _FILL("status", kind=of.status.value, text=_STATUS[of.status])


def _time(instant: str | None) -> Html:
    if instant is None:
        return Html("at a time that is not known")
    return _FILL("time", instant=instant, text=instant.replace("T", " ").removesuffix("Z") + " UTC")


def _earlier(of: AttentionItem) -> Html:
    """What else is known of the run."""
    facts = [
        *(["Stopped before: " + str(of.earlier_pauses)] if of.earlier_pauses else []),
        *(["A demonstration was asked for"] if of.teaching_requested else []),
        *(["Help was asked for"] if of.escalated else []),
        *(["Its window is open on this computer"] if of.has_window else []),
    ]
    return join(_FILL("point", text=text) for text in facts)


def _rechecks(shown: Card) -> Html:
    points = join(_FILL("point", text=text) for text in shown.rechecks)
    return _FILL("rechecks", points=points) if shown.rechecks else NOTHING


def _results(shown: Card, refused: Receipt | None) -> Html:
    newest = [*shown.receipts, *([] if refused is None else [refused])][::-1]
    return _FILL("results", results=join(map(_result, newest))) if newest else NOTHING


def _result(receipt: Receipt) -> Html:
    said = told(receipt)
    when = receipt.ended_at or receipt.decided_at
    return _FILL(
        "result",
        tone=said.tone.value,
        title=said.title,
        action=receipt.action.value,
        text=receipt.what_happened,
        reason=NOTHING if receipt.reason is None else _FILL("reason", text=why(receipt.reason)),
        when=NOTHING if when is None else _time(when),
    )


def _evidence(shown: Card) -> Html:
    evidence = shown.evidence
    if evidence is None:
        return NOTHING
    return _FILL(
        "evidence",
        control=_control(evidence),
        address=_FILL("address", text=evidence.address) if evidence.address else NOTHING,
        identity=_values("The intended record", evidence.identity),
        values=_values("Values still to be entered", evidence.values),
        frame=NOTHING if evidence.frame is None else _FILL("frame", item=shown.item.id),
    )


def _values(title: str, values: Values) -> Html:
    rows = join(_FILL("value", name=each.name, text=each.text) for each in values)
    return _FILL("values", title=title, rows=rows) if values else NOTHING


def _control(evidence: LocalEvidence) -> Html:
    if not evidence.control and not evidence.role:
        return NOTHING
    return _FILL("control", name=evidence.control or "without a name", role=evidence.role)


def _choices(shown: Card, proof: str) -> Html:
    item_id = shown.item.id
    capability = shown.item.capability_digest or ""
    parts: Iterable[Html] = (
        *([_FILL("open", item=item_id, proof=proof)] if shown.may_open else []),
        *([_FILL("renew", item=item_id, proof=proof)] if shown.may_renew else []),
        *(_choice(each, item_id, capability, proof) for each in shown.choices),
    )
    choices = join(parts)
    limits = _FILL("limits", text=shown.limits) if shown.limits else NOTHING
    return (
        _FILL("choices", choices=choices, limits=limits)
        if choices.text
        else _FILL("nothing_to_decide", text=shown.standing)
    )


def _choice(choice: Choice, item_id: str, capability: str, proof: str) -> Html:
    return _FILL(
        "choice",
        item=item_id,
        action=choice.action.value,
        label=choice.label,
        words=choice.words,
        box=choice.box,
        weight=choice.weight.value,
        opened=Html(" open") if choice.weight is Weight.GOES_ON else NOTHING,
        code=NOTHING if choice.code is None else _FILL("code", code=choice.code),
        capability=capability,
        key=f"console:{secrets.token_hex(16)}",
        proof=proof,
    )


def _counted(count: int, *, more: bool) -> str:
    if more:
        return f"more than {count}"
    return {0: "none", 1: "one"}.get(count, str(count))


def _banner(text: str) -> Html:
    return _FILL("banner", text=text) if text else NOTHING


def _page(title: str, kind: str, content: Html, *, proof: str, mark: str = "") -> str:
    leave = _FILL("leave", proof=proof) if proof else NOTHING
    return _FILL("layout", title=title, kind=kind, mark=mark, leave=leave, content=content).text
