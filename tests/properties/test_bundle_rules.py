"""Bundles of users' own apps: steps, addresses, requests, sources and effects that cannot be made."""

from typing import Any

import pytest
from attrs import evolve

from support.app_model import BUNDLE, ON_FORM, ON_SIGN_IN, ON_WORK_LIST, PARAMETERS, button, label, shown
from surehand.core.outcome.evidence import CheckLevel
from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChoiceControl,
    ChooseStep,
    ClickStep,
    DateForm,
    Effect,
    FillStep,
    IdentityField,
    Key,
    OpenStep,
    ReadField,
    Rule,
    SearchBy,
    Step,
    entered_on_save_page,
)
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import GraphqlOperation, GraphqlRead, WriteRoute
from surehand.core.workflow.source import DatabaseRecords, JsonRecords, PageField, PageRecords, RecordPage, Source
from surehand.core.workflow.target import Constant, FromInput, PageGate, QueryPart, Target, TargetKind

FORM = "application/x-www-form-urlencoded"
PATIENT = FromInput("patient")
MEMBERS = ("patient", "birth_date", "note", "dose", "due", "code", "priority", "remark")
FIELDS = tuple(PageField(name, shown(name)) for name in MEMBERS)
LIST = PageRecords("/entries", shown("list"), "/entries/*", ON_WORK_LIST, FIELDS)
PAGE = RecordPage("/entries/{patient}", ON_WORK_LIST, FIELDS)
VIEW = DatabaseRecords("main", "entries", "id", MEMBERS)
JSON = JsonRecords("/api/entries", "entries", "id")
DETAILED = evolve(JSON, detail="/api/entries/*")
ORIGIN = "https://app.example.org"
BOX = Parameter(name="signed", type=ParameterType.CHOICE, title="Signed", choices=("true", "false"))
OTHER_BOX = evolve(BOX, choices=("true", "false", "maybe"))


def steps(*more: Step) -> dict[str, Any]:
    """More steps at the end."""
    return {"steps": (*BUNDLE.steps, *more)}


def read(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - each member has its own type
    """Another read-back."""
    return {"read_back": evolve(BUNDLE.read_back, **more)}


def served(source: Source, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - each member has its own type
    """The records read from this source, at a level that every source is good for."""
    return read(source=source, level=CheckLevel.SEPARATE_SESSION, **more)


def fill(value: Constant | FromInput = PATIENT, rule: Rule = Rule.IDENTIFIER, **more: Any) -> FillStep:  # noqa: ANN401
    """A field on the way to the record."""
    more = {"part_of_record": False, **more}
    return FillStep("extra", ON_SIGN_IN, label("extra"), value, rule, **more)


def choose(**more: Any) -> ChooseStep:  # noqa: ANN401 - each member has its own type
    """A choice on the way to the record."""
    return ChooseStep("extra", ON_SIGN_IN, label("extra"), FromInput("priority"), part_of_record=False, **more)


def check(value: Constant | FromInput) -> CheckStep:
    """A box on the way to the record."""
    return CheckStep("extra", ON_SIGN_IN, label("extra"), value, part_of_record=False)


def click(target: Target, page: PageGate = ON_SIGN_IN) -> ClickStep:
    """A click on the way to the record."""
    return ClickStep("extra", page, target)


def route(path: str, content_type: str = FORM, **more: Any) -> WriteRoute:  # noqa: ANN401 - each member has its own type
    """A write."""
    return WriteRoute("POST", path, content_type, **more)


def saved(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - each member has its own type
    """Another route of the save."""
    return {"save": evolve(BUNDLE.save, route=evolve(BUNDLE.save.route, **more))}


def dated(form: DateForm) -> tuple[ReadField, ...]:
    """The written members, with the date in another form."""
    return tuple(evolve(each, form=form) if each.rule is Rule.DATE else each for each in BUNDLE.read_back.written)


def changing(source: Source = JSON, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - each member has its own type
    """A workflow that changes a record."""
    return served(source, effect=Effect.UPDATE, **more)


ATTRIBUTE = Target(TargetKind.ATTRIBUTE, "name", attribute="data-field")
NOTE = BUNDLE.read_back.written[0]
#: A page that shows nothing unique but what is entered.
ENTERED = (
    IdentityField(label("note"), FromInput("note"), Rule.TEXT, unique=True),
    BUNDLE.identity[1],
)
IN_PAGE = PageGate("/app", label("x"), (QueryPart("tab", "1"),), "/entry/{patient}")
#: A change of a page that shows nothing unique but what is entered.
ON_ONE_PAGE: dict[str, Any] = {**changing(PAGE, identity=(BUNDLE.read_back.identity[1],)), "identity": ENTERED}
#: One that writes a single member.
SMALL = evolve(
    BUNDLE,
    parameters=PARAMETERS[:3],
    steps=(OpenStep("open", "/"), FillStep("note", ON_FORM, label("note"), FromInput("note"), Rule.TEXT)),
    read_back=evolve(BUNDLE.read_back, written=(NOTE,)),
)

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an attribute target without its attribute": (
        steps(click(evolve(ATTRIBUTE, attribute=None))),
        "an attribute target has an attribute",
    ),
    "an attribute of another target": (
        steps(click(evolve(label("x"), attribute="name"))),
        "an attribute target has an attribute",
    ),
    "a field of a page of another kind": (
        served(evolve(LIST, fields=(*FIELDS, PageField("more", Target(TargetKind.ROLE, "x"))))),
        "a role target has a role",
    ),
    "a landmark of a list of another kind": (
        served(evolve(LIST, landmark=Target(TargetKind.ROLE, "x"))),
        "a role target has a role",
    ),
    "what shows a choice of another kind": (
        steps(choose(control=ChoiceControl.LIST, shown=Target(TargetKind.ROLE, "x"))),
        "a role target has a role",
    ),
    "a row of a page that may be empty": (
        served(evolve(LIST, fields=(*FIELDS, PageField("more", evolve(shown("x"), row=FromInput("code")))))),
        "may be empty",
    ),
    "a form of dates beside a text": (steps(fill(form=DateForm.DAY_MONTH_DOT)), "a form of dates"),
    "a form of dates beside a text of the identity": (
        {"identity": (evolve(BUNDLE.identity[0], form=DateForm.DAY_MONTH_DOT), BUNDLE.identity[1])},
        "a form of dates",
    ),
    "a form of dates beside a text that is read": (
        read(written=(evolve(NOTE, form=DateForm.DAY_MONTH_DOT), *BUNDLE.read_back.written[1:])),
        "a form of dates",
    ),
    "enter after an input of several lines": (
        steps(fill(FromInput("note"), Rule.TEXT, then=Key.ENTER)),
        "a key that breaks lines",
    ),
    "enter after a text of two lines": (
        steps(fill(Constant("a\nb"), Rule.TEXT, then=Key.ENTER)),
        "a key that breaks lines",
    ),
    "a search in a native list": (steps(choose(search=SearchBy.WHOLE)), "only a list is searched"),
    "radio buttons that show their choice elsewhere": (
        steps(choose(control=ChoiceControl.RADIO, shown=label("y"))),
        "only a list is searched",
    ),
    "a text that stays in its field and is shown elsewhere": (
        steps(fill(FromInput("remark"), Rule.TEXT, shown=label("y"))),
        "a text that no key takes is shown elsewhere",
    ),
    "what shows a text of another kind": (
        steps(fill(FromInput("remark"), Rule.TEXT, then=Key.ENTER, shown=Target(TargetKind.ROLE, "x"))),
        "a role target has a role",
    ),
    "a box with another word": (steps(check(Constant("yes"))), "a box is neither true nor false"),
    "a box with another choice": (steps(check(FromInput("priority"))), "a box is neither true nor false"),
    "a box with a third choice": (
        {"parameters": (*PARAMETERS, OTHER_BOX), **steps(check(FromInput("signed")))},
        "a box is neither true nor false",
    ),
    "a part of the record that is optional": (
        steps(fill(part_of_record=True, optional=True)),
        "a part of the record is optional",
    ),
    "a step that says that it is not optional": (steps(evolve(click(label("x")), optional=False)), "says so"),
    "a box with an empty word": (steps(check(Constant(""))), "may be empty"),
    "a place of an input that is not declared": (steps(OpenStep("extra", "/p/{nobody}")), "is not declared"),
    "a place of an input that may be empty": (steps(OpenStep("extra", "/p/{code}")), "may be empty"),
    "a place in a gate of an input that may be empty": (
        steps(click(label("x"), evolve(IN_PAGE, fragment="/{remark}"))),
        "may be empty",
    ),
    "a place in a query of an input that may be empty": (
        steps(click(label("x"), evolve(IN_PAGE, query=(QueryPart("q", "{code}"),)))),
        "may be empty",
    ),
    "a place in a source of an input that may be empty": (served(evolve(PAGE, path="/p/{code}")), "may be empty"),
    "a place in details of an input that may be empty": (served(evolve(JSON, detail="/p/{code}/*")), "may be empty"),
    "a place in links of an input that may be empty": (served(evolve(LIST, link="/p/{code}/*")), "may be empty"),
    "a place in the save of an input that may be empty": (saved(path="/p/{code}"), "may be empty"),
    "a brace that is no place": (steps(OpenStep("extra", "/p/{}")), "a brace in an address"),
    "a brace in a path of sockets": ({"sockets": ("/socket/{",)}, "a brace in an address"),
    "a place in a harmless write": ({"harmless_writes": (route("/p/{patient}"),)}, "what a person confirmed"),
    "a place in the query of a blocked write": (
        {"blocked_writes": (route("/p", query=(QueryPart("q", "{patient}"),)),)},
        "what a person confirmed",
    ),
    "a place in a path of sockets": ({"sockets": ("/socket/{patient}",)}, "what a person confirmed"),
    "an undeclared place behind the hash": (steps(OpenStep("extra", "/p", "/{nobody}")), "is not declared"),
    "an open segment behind the hash": (steps(OpenStep("extra", "/p", "/a/*")), "a segment left open"),
    "an opened path with an open segment": (steps(OpenStep("extra", "/p/*")), "a segment left open"),
    "a list with an open segment": (served(evolve(LIST, path="/p/*")), "a segment left open"),
    "links without a key": (served(evolve(LIST, link="/entries")), "not one place for its key"),
    "links with two keys": (served(evolve(LIST, link="/*/*")), "not one place for its key"),
    "details without a key": (served(evolve(JSON, detail="/entries")), "not one place for its key"),
    "a member of a query named twice by a gate": (
        steps(click(label("x"), evolve(IN_PAGE, query=(QueryPart("q", "1"), QueryPart("q", "2"))))),
        "a member of a query is named twice",
    ),
    "a member of a query named twice by a route": (
        saved(query=(QueryPart("q", "1"), QueryPart("q", "1"))),
        "a member of a query is named twice",
    ),
    "an origin that is not canonical": (
        {"origins": ("https://App.example.org:443",), **served(JSON)},
        "an origin is not canonical",
    ),
    "an origin that is none": ({"origins": ("https://app_{}",), **served(JSON)}, "an origin is not canonical"),
    "an origin named twice": ({"origins": (ORIGIN, ORIGIN), **served(JSON)}, "an origin is named twice"),
    "a save that goes elsewhere": (saved(origin=ORIGIN), "a write goes to another origin"),
    "a harmless write that goes elsewhere": (
        {"harmless_writes": (route("/p", origin="https://other.example.org"),), "origins": (ORIGIN,), **served(JSON)},
        "a write goes to another origin",
    ),
    "a harmless write that could be the save": ({"harmless_writes": (route("/*/*/*"),)}, "cannot be told apart"),
    "a blocked write that could be the save": ({"blocked_writes": (BUNDLE.save.route,)}, "cannot be told apart"),
    "a blocked write that could be harmless": (
        {"harmless_writes": (route("/a/*"),), "blocked_writes": (route("/*/b"),)},
        "cannot be told apart",
    ),
    "a harmless write that could be the save of some input": (
        {**saved(path="/p/x{patient}"), "harmless_writes": (route("/p/other"),)},
        "cannot be told apart",
    ),
    "a harmless query that could be the save of some input": (
        {
            **saved(path="/p", query=(QueryPart("q", "{patient}"),)),
            "harmless_writes": (route("/p", query=(QueryPart("q", "7"),)),),
        },
        "cannot be told apart",
    ),
    "a page that claims to be the system of record": (read(source=LIST), "more than its source can show"),
    "an app's own interface that claims to be the system of record": (
        {"origins": (ORIGIN,)},
        "more than its source can show",
    ),
    "a written member that a page does not show": (
        served(evolve(LIST, fields=FIELDS[:-1])),
        "that the source does not show",
    ),
    "an identity that a view does not show": (
        served(evolve(VIEW, columns=MEMBERS[1:])),
        "that the source does not show",
    ),
    "a guard that a view does not show": (
        {**served(VIEW), "guards": ("allergy",)},
        "that the source does not show",
    ),
    "a member that may change and is not shown": (
        served(PAGE, may_change=("version",)),
        "that the source does not show",
    ),
    "a member that a page shows twice": (served(evolve(LIST, fields=(*FIELDS, FIELDS[0]))), "shows a member twice"),
    "a written member that may change": (read(may_change=("note",)), "is compared and may change"),
    "an identity that may change": (read(may_change=("patient",)), "is compared and may change"),
    "a guard that may change": (
        {**read(may_change=("version",)), "guards": ("version",)},
        "is compared and may change",
    ),
    "a guard named twice": ({"guards": ("allergy", "allergy")}, "a guard is named twice"),
    "a business key that is not compared": ({"business_key": ("author",)}, "a member that is not compared"),
    "a business key named twice": ({"business_key": ("due", "due")}, "the business key is named twice"),
    "a business key that may be empty": ({"business_key": ("due", "remark")}, "may be empty"),
    "a business key of a list of pages": ({**served(LIST), "business_key": ("due",)}, "needed before the save"),
    "a guard of a list of pages": ({**served(LIST), "guards": ("due",)}, "needed before the save"),
    "a guard of a list with details": ({**served(DETAILED), "guards": ("due",)}, "needed before the save"),
    "a change read from a list of pages": (changing(LIST), "needed before the save"),
    "a change read from a list with details": (changing(DETAILED), "needed before the save"),
    "a change with a business key": ({**changing(), "business_key": ("due",)}, "a change has a business key"),
    "a change that names its record by no unique field": (
        changing(identity=(BUNDLE.read_back.identity[1],)),
        "does not name its one record",
    ),
    "a change that reads its record by what it enters": (
        changing(identity=(BUNDLE.read_back.identity[0], ReadField("more", FromInput("note"), Rule.TEXT))),
        "by what it enters",
    ),
    "a change that shows its record by what it enters": (
        {**changing(PAGE, identity=(BUNDLE.read_back.identity[1],)), "identity": ENTERED},
        "by what it enters",
    ),
    "a change of a page that the query of the save leaves open": (
        {**ON_ONE_PAGE, **saved(path="/page", query=(QueryPart("id", "*"),))},
        "by what it enters",
    ),
    "a change of a page that the path of the save leaves open": (
        {**ON_ONE_PAGE, **saved(path="/page/*", query=(QueryPart("id", "ward"),))},
        "by what it enters",
    ),
    "a change of a page that the save does not name": (
        {**ON_ONE_PAGE, **saved(path="/page")},
        "by what it enters",
    ),
    "a part of the record that is entered elsewhere and not read back": (
        steps(fill(Constant("typed"), Rule.TEXT, part_of_record=True)),
        "something entered is not read back",
    ),
    "a name of an element that holds an input that may be empty": (steps(click(button("Open {code}"))), "may be empty"),
    "a name of an element that holds an input of nobody": (steps(click(button("Open {nobody}"))), "is not declared"),
}

ACCEPTED: dict[str, dict[str, Any]] = {
    "a target by an attribute": steps(click(ATTRIBUTE)),
    "a list of pages": served(LIST),
    "one page": served(PAGE),
    "a view of a database": read(source=VIEW),
    "details": served(DETAILED),
    "a date in the app's form": {
        **read(written=dated(DateForm.DAY_MONTH_DOT)),
        "identity": (
            BUNDLE.identity[0],
            evolve(BUNDLE.identity[1], form=DateForm.DAY_MONTH_SLASH),
        ),
        **steps(fill(FromInput("due"), Rule.DATE, form=DateForm.MONTH_DAY_SLASH)),
    },
    "enter after one line": steps(fill(FromInput("remark"), Rule.TEXT, then=Key.ENTER)),
    "enter after a line that then is shown elsewhere": steps(
        fill(FromInput("remark"), Rule.TEXT, then=Key.ENTER, shown=label("y"))
    ),
    "enter after a constant line": steps(fill(Constant("a"), Rule.TEXT, then=Key.ENTER)),
    "another key after several lines": steps(fill(FromInput("note"), Rule.TEXT, then=Key.TAB)),
    "a list that is searched and shows its choice": steps(
        choose(control=ChoiceControl.LIST, search=SearchBy.FIRST_WORD, shown=label("y"))
    ),
    "radio buttons": steps(choose(control=ChoiceControl.RADIO)),
    "a box that is always set": steps(check(Constant("true"))),
    "a box by an input": {"parameters": (*PARAMETERS, BOX), **steps(check(FromInput("signed")))},
    "places everywhere": {
        **steps(OpenStep("extra", "/p/{patient}?due={due}"), evolve(click(label("x"), IN_PAGE), id="there")),
        **saved(path="/p/{patient}/entries"),
    },
    "an input that only has a place": {
        "parameters": (*PARAMETERS, Parameter(name="ward", type=ParameterType.LINE, title="Ward", min_length=1)),
        **steps(OpenStep("extra", "/wards/{ward}")),
    },
    "a brace in the value of a query": steps(click(label("x"), evolve(IN_PAGE, query=(QueryPart("q", '{"a":1}'),)))),
    "a star in an opened query": steps(OpenStep("extra", "/p?columns=*")),
    "two origins": {
        "origins": (ORIGIN, "http://127.0.0.1:8000"),
        **saved(origin="http://127.0.0.1:8000"),
        **served(JSON),
    },
    "writes of other kinds": {
        "harmless_writes": (route("/sign-in"), route("/patients/*/entries", "application/json")),
        "blocked_writes": (route("/beacon"), route("/drafts/*")),
        "sockets": ("/socket/*",),
    },
    "one address for everything": {
        **saved(path="/api", content_type="application/json", operation=GraphqlOperation("Save")),
        "harmless_writes": (route("/api", "application/json", operation=GraphqlRead()),),
    },
    "members that may change": read(may_change=("version", "changed_at")),
    "a business key": {"business_key": ("patient", "due")},
    "a change": changing(),
    "a change of the one record of a page": changing(PAGE, identity=(BUNDLE.read_back.identity[1],)),
    "a change of the record in the address of the save": {
        **changing(),
        **saved(path="/patients/{patient}/entries"),
        "identity": ENTERED,
    },
    "a change of the one page that the save names": {
        **ON_ONE_PAGE,
        **saved(path="/page", query=(QueryPart("id", "ward"),)),
    },
    "a change of the record in the query of the save": {
        **changing(),
        **saved(query=(QueryPart("of", "{patient}"),)),
        "identity": ENTERED,
    },
    "an entry that is shown by what it enters": {"identity": ENTERED},
    "a change with a guard": {**changing(), "guards": ("allergy",)},
    "no part of the record": steps(fill()),
    "a page that names its record by its address": served(PAGE, identity=()),
    "an entry that the identity compares": steps(fill(part_of_record=True)),
    "an element that is named by its record": steps(click(button("Open {patient}"))),
}


class TestRules:
    """A bundle that could open, enter, save or prove something else than it says cannot be made."""

    @pytest.mark.parametrize("name", REFUSED)
    def test_it_is_refused_by_the_name_of_the_rule(self, name: str) -> None:
        members, rule = REFUSED[name]

        with pytest.raises(ValueError, match=rule):
            evolve(BUNDLE, **members)

    @pytest.mark.parametrize("name", ACCEPTED)
    def test_its_neighbour_is_accepted(self, name: str) -> None:
        assert isinstance(evolve(BUNDLE, **ACCEPTED[name]), Bundle)


def on(page: PageGate) -> Bundle:
    """One more field, which is no part of what is read back, on this page, and the save on the page of ``IN_PAGE``."""
    note = FromInput("note")
    extra = FillStep("extra", page, label("extra"), note, Rule.TEXT)
    return evolve(BUNDLE, steps=(*BUNDLE.steps, extra), save=evolve(BUNDLE.save, page=IN_PAGE))


class TestTheWhole:
    """A rule that asks for a part of something accepts the whole of it."""

    def test_every_member_that_is_compared_may_be_the_business_key(self) -> None:
        assert isinstance(evolve(SMALL, business_key=("patient", "birth_date", "note")), Bundle)

    def test_every_member_that_is_compared_may_be_entered(self) -> None:
        patient = fill(part_of_record=True)
        born = FillStep("born", ON_SIGN_IN, label("born"), FromInput("birth_date"), Rule.DATE)

        assert isinstance(evolve(SMALL, steps=(*SMALL.steps, patient, born)), Bundle)


class TestPagesOfOneSave:
    """A field counts as one of the page that saves unless the addresses of the two can never be of one page."""

    @pytest.mark.parametrize(
        ("page", "same"),
        [
            (IN_PAGE, True),
            (evolve(IN_PAGE, query=()), True),
            (evolve(IN_PAGE, query=(QueryPart("tab", "*"),)), True),
            (evolve(IN_PAGE, query=(QueryPart("tab", "{due}"),)), True),
            (evolve(IN_PAGE, query=(QueryPart("tab", "2"),)), False),
            (evolve(IN_PAGE, query=(QueryPart("other", "2"),)), True),
            (evolve(IN_PAGE, query=(QueryPart("tab", "/1"),)), False),
            (evolve(IN_PAGE, fragment=None), True),
            (evolve(IN_PAGE, fragment="/entry/0471"), True),
            (evolve(IN_PAGE, fragment="/*/0471"), True),
            (evolve(IN_PAGE, fragment="/list/0471"), False),
            (evolve(IN_PAGE, fragment="/entry"), False),
            (evolve(IN_PAGE, path="/{patient}"), True),
            (evolve(IN_PAGE, path="/app?tab=2"), True),
            (evolve(IN_PAGE, path="/other"), False),
        ],
    )
    def test_the_field(self, page: PageGate, same: bool) -> None:
        assert ([step.id for step in entered_on_save_page(on(page))] == ["extra"]) == same

    def test_a_save_on_every_fragment_of_a_page_is_on_this_one_too(self) -> None:
        bundle = evolve(on(IN_PAGE), save=evolve(BUNDLE.save, page=evolve(IN_PAGE, fragment=None)))

        assert [step.id for step in entered_on_save_page(bundle)] == ["extra"]

    def test_what_is_no_part_of_the_record_is_not_read_again(self) -> None:
        search = evolve(fill(), page=ON_FORM)

        assert entered_on_save_page(evolve(BUNDLE, **steps(search))) == entered_on_save_page(BUNDLE)

    def test_a_click_on_what_saves_is_seen_by_address(self) -> None:
        save = evolve(BUNDLE.save, page=IN_PAGE)
        elsewhere = click(save.target, evolve(IN_PAGE, fragment="/list"))

        assert isinstance(evolve(BUNDLE, save=save, **steps(elsewhere)), Bundle)
        with pytest.raises(ValueError, match="clicks what saves"):
            evolve(BUNDLE, save=save, **steps(click(button("Save"), evolve(IN_PAGE, fragment=None))))

    def test_a_click_on_what_saves_is_seen_in_any_row(self) -> None:
        save = evolve(BUNDLE.save, target=evolve(BUNDLE.save.target, row=PATIENT))

        with pytest.raises(ValueError, match="clicks what saves"):
            evolve(BUNDLE, save=save, **steps(click(BUNDLE.save.target, ON_FORM)))

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("/posts/*", "/posts/7", True),
            ("/posts/{patient}", "/posts/7", True),
            ("/posts/*", "/pages/7", False),
            ("/posts/*", "*", True),
        ],
    )
    def test_a_path_in_a_query_is_read_as_a_path(self, one: str, other: str, same: bool) -> None:
        there, here = (evolve(IN_PAGE, query=(QueryPart("route", value),)) for value in (one, other))
        bundle = evolve(on(there), save=evolve(BUNDLE.save, page=here))

        assert ([step.id for step in entered_on_save_page(bundle)] == ["extra"]) == same
