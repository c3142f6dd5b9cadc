"""Agent Skills: valid in form whatever an app is called, and made of a workflow's card alone."""

import re

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from support.own_bundle import OWN
from support.skills import body_of, front_matter, problems
from surehand.core.outcome.reasons import Outcome
from surehand.core.workflow.bundle import Bundle, ChooseStep, FillStep, OpenStep, ReadField, Rule
from surehand.core.workflow.card import Card, CardInput, choose_card, default_card
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import FormField, WriteRoute
from surehand.core.workflow.skill import LONGEST_DESCRIPTION, LONGEST_NAME, RESERVED, skill_name, skill_of
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import Constant, FromInput, PageGate, Target, TargetKind

NAMES = st.from_regex("[a-z][a-z0-9_]{0,39}", fullmatch=True)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80) | st.sampled_from(
    ("---", "a: b", "# x", '"', "\\", "<a>", "</skill>", "\n---\n", "`", "|", "\u2028", "\ufeff", "\U0001f6b2", "-")
)
INPUTS = st.builds(
    CardInput,
    name=NAMES,
    type=st.sampled_from(ParameterType),
    title=WORDS,
    required=st.booleans(),
    description=st.none() | WORDS,
    min_length=st.none() | st.integers(0, 9),
    max_length=st.none() | st.integers(10, 20),
)
CARDS = st.builds(
    Card, name=NAMES, title=WORDS, purpose=WORDS, done_means=WORDS, inputs=st.lists(INPUTS, max_size=6).map(tuple)
)

LONGEST = Card(
    name="a" * 40,
    title="t" * 80,
    purpose="p" * 300,
    done_means="d" * 300,
    inputs=tuple(
        CardInput(name=f"{'i' * 38}{n}", type=ParameterType.LINE, title="T", required=True) for n in range(10, 60)
    ),
)

ON_PAGE = PageGate("/canary/page", Target(TargetKind.ROLE, "canary landmark", "heading"))

#: A workflow in which everything but its name, its title and the titles of its inputs says so.
CANARY: Bundle = evolve(
    OWN,
    parameters=(
        *OWN.parameters[:2],
        Parameter(name="size", type=ParameterType.CHOICE, title="Size", choices=("canary choice", "other")),
        Parameter(name="code", type=ParameterType.LINE, title="Code", min_length=1, pattern="canary[0-9]"),
    ),
    steps=(
        OpenStep("canary_open", "/canary/open"),
        FillStep(
            "canary_fill", ON_PAGE, Target(TargetKind.LABEL, "canary label"), FromInput("number"), Rule.IDENTIFIER
        ),
        FillStep("canary_code", ON_PAGE, Target(TargetKind.LABEL, "canary code"), FromInput("code"), Rule.TEXT),
        FillStep("canary_fixed", ON_PAGE, Target(TargetKind.CAPTION, "canary fixed"), Constant("canary"), Rule.TEXT),
        ChooseStep("canary_choose", ON_PAGE, Target(TargetKind.TEST_ID, "canary-size"), FromInput("size")),
    ),
    save=evolve(
        OWN.save,
        id="canary_save",
        page=ON_PAGE,
        target=Target(TargetKind.ROLE, "canary save", "button"),
        route=WriteRoute("POST", "/canary", "application/x-www-form-urlencoded", operation=FormField("canary", None)),
    ),
    read_back=evolve(
        OWN.read_back,
        source=JsonRecords("/canary/api", "canary_items", "canary_key"),
        written=(
            ReadField("canary_number", FromInput("number"), Rule.IDENTIFIER),
            ReadField("canary_size", FromInput("size"), Rule.CHOICE),
            ReadField("canary_code", FromInput("code"), Rule.TEXT),
            ReadField("canary_fixed", Constant("canary"), Rule.TEXT),
        ),
    ),
    origins=("https://canary.example",),
    business_key=("canary_number",),
)


class TestASkillKeepsTheFormat:
    """Whatever an app is called: the format's own validator accepts the skill in the folder of its name."""

    @given(CARDS, st.booleans())
    @example(LONGEST, True)
    def test_the_validator_finds_nothing_wrong(self, card: Card, with_bundle: bool) -> None:
        skill = skill_of(card, with_bundle=with_bundle)

        assert problems(skill.text, skill.name) == []

    @given(CARDS)
    def test_the_front_matter_holds_two_members(self, card: Card) -> None:
        skill = skill_of(card)
        members = front_matter(skill.text)

        assert members.keys() == {"name", "description"}
        assert members["name"] == skill.name
        assert body_of(skill.text).startswith("# ")

    @given(CARDS)
    @example(LONGEST)
    def test_a_description_is_short_and_holds_no_tag(self, card: Card) -> None:
        description = front_matter(skill_of(card).text)["description"]

        assert 0 < len(description) <= LONGEST_DESCRIPTION
        assert not set("<>") & set(description)

    @given(CARDS)
    def test_no_text_begins_a_line(self, card: Card) -> None:
        bare = evolve(card, title="T", purpose="P", done_means="D", inputs=tuple(map(_bare, card.inputs)))

        assert len(skill_of(card).text.splitlines()) == len(skill_of(bare).text.splitlines())

    def test_the_validator_catches_a_wrong_one(self) -> None:
        assert problems('---\nname: a--b\ndescription: ""\nother: x\n---\n', "c") != []


def _bare(each: CardInput) -> CardInput:
    return evolve(each, title="T", description=None)


class TestANameIsAWorkflowsOwn:
    """A name keeps the rules of the format, holds no reserved word, and is shared by no two workflows."""

    @given(NAMES)
    @example("claude_notes")
    @example("my_anthropic")
    @example("a__b")
    @example("a_")
    def test_it_keeps_the_rules(self, workflow: str) -> None:
        name = skill_name(workflow)

        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name) is not None
        assert len(name) <= LONGEST_NAME
        assert [word for word in RESERVED if word in name] == []

    @given(NAMES, NAMES)
    @example("a_b", "a__b")
    @example("a_b", "a_b_")
    @example("claude", "claude_")
    def test_no_two_share_one(self, one: str, other: str) -> None:
        assert (skill_name(one) == skill_name(other)) is (one == other)

    def test_most_are_called_as_the_workflow(self) -> None:
        assert skill_name("add_order_2") == "add-order-2"


class TestADescriptionNamesItsWorkflow:
    """Each description names its own workflow and its inputs, as many as there is room for."""

    def test_the_workflow_and_every_input(self) -> None:
        description = front_matter(skill_of(default_card(OWN)).text)["description"]

        assert [word for word in ("add_order", "number", "customer", "size") if word not in description] == []

    def test_inputs_without_room_are_counted(self) -> None:
        description = front_matter(skill_of(LONGEST).text)["description"]
        shown = sum(each.name in description for each in LONGEST.inputs)

        assert 0 < shown < len(LONGEST.inputs)
        assert description.endswith(f"and {len(LONGEST.inputs) - shown} more.")

    def test_a_workflow_without_inputs(self) -> None:
        card = evolve(LONGEST, inputs=())

        assert front_matter(skill_of(card).text)["description"].endswith("Inputs: none.")

    @given(NAMES, NAMES)
    def test_two_workflows_have_two(self, one: str, other: str) -> None:
        texts = [skill_of(evolve(LONGEST, name=name)).text for name in (one, other)]

        assert (texts[0] == texts[1]) is (one == other)


class TestASkillHoldsNothingOfTheApp:
    """No step, path, target, constant, choice or example is in it; names, titles and limits are."""

    def test_no_canary_is_in_it(self) -> None:
        written = {
            "schema": "surehand.card/v1",
            "purpose": "Adds one.",
            "done_means": "It is there.",
            "inputs": [{"name": "code", "examples": ["canary example"]}],
        }
        cards = (default_card(CANARY), choose_card(CANARY, written).card)

        assert "canary example" in str(cards[1])
        assert ["canary" in skill_of(card, with_bundle=True).text.lower() for card in cards] == [False, False]

    def test_a_canary_in_a_title_would_be_seen(self) -> None:
        assert "Canary" in skill_of(default_card(evolve(CANARY, title="Canary"))).text

    def test_the_bundle_is_named_only_where_it_lies_beside(self) -> None:
        card = default_card(OWN)

        assert ["`bundle`" in skill_of(card, with_bundle=beside).text for beside in (True, False)] == [True, False]


class TestASkillSaysHowToCall:
    """It says which tool takes which inputs, and what each outcome asks the caller to do."""

    @pytest.mark.parametrize("outcome", Outcome)
    def test_every_outcome(self, outcome: Outcome) -> None:
        assert f"| `{outcome.value}` |" in skill_of(default_card(OWN)).text

    def test_every_input_with_its_kind(self) -> None:
        dose = CardInput(
            name="dose", type=ParameterType.DECIMAL, title="Dose", required=False, minimum="0.5", maximum="12"
        )
        text = skill_of(evolve(default_card(OWN), inputs=(dose,))).text

        assert "- `dose` (decimal number" in text
        assert "; may be left out; at least 0.5; at most 12): “Dose”." in text

    def test_the_workflow_by_its_own_name(self) -> None:
        assert "`workflow` set to `add_order`" in skill_of(default_card(OWN)).text
