"""The recording tools in a real browser: what an agent may see and do, what stays the person's, and who admits.

Laws:

- An agent is told no text of the page, and nothing that anybody entered.
- What the agent does is marked as the agent's, what the person enters as the person's; of a secret nothing is kept.
- A workflow comes of it only by two answers of a person, each by a form.
- A refusal is a closed code, and nothing is done.
"""

import asyncio
import struct
from pathlib import Path

import pytest

from support.showing import Agent, Does, Person, accepts, an_agent, does, patient_site, showing
from surehand.core.authoring import Problem
from surehand.core.workflow.recording import Actor, Entered, Recording, SecretEntered
from surehand.shell.admission import Registry
from surehand.shell.authoring.desk import AUTHORED, RECORDINGS, Screens
from surehand.shell.authoring.protected import find_recording_key, read_recording
from surehand.shell.bundles import load_bundle
from surehand.shell.mcp.asking import Action, FormAnswer

ANSWERS = {
    "row.number.value": "input",
    "field.note.value": "input",
    "shown.patient.value": "input",
    "identity.unique": "number",
    "read_back.source": "json",
    "business_key": "no",
}
CONFIRMED = {"confirm": True}

TYPED = "typed canary 4711"


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration folder of the test's own: keys and settings of the user stay out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def kept(state: Path) -> list[Path]:
    """The recordings on disk."""
    return sorted((state / RECORDINGS).glob("*/*"))


def recorded(state: Path) -> Recording:
    """The one recording on disk."""
    (path,) = kept(state)
    return read_recording(path.parent, find_recording_key(state, {}))


def problem_of(answer: dict[str, object]) -> object:
    """Why a call was refused."""
    return answer.get("problem")


class TestAnAgentSeesNoTextOfThePage:
    """Over a whole demonstration, nothing that stands on a page and nothing that was entered is said."""

    def test_no_canary_is_said(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site, screens=Screens.SCRUBBED) as agent:
                    await agent.show_note(TYPED)
                    await agent.call("compile")
                    await agent.call("admit", Person([accepts(ANSWERS)]).ask)
                    await agent.call("get_command_result")
                    heard = agent.heard.lower()

                assert [TYPED] == [each["note"] for each in site.records]
                assert [] == [
                    word
                    for word in ("canary", "4711", "ada example", "syn-1", "/new?", site.origin, str(tmp_path))
                    if word in heard
                ]

        showing(scenario)

    def test_the_page_holds_them(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.call("start_record")

                    assert "canary" in await agent.page.content()
                    assert "canary" in await agent.page.title()

        showing(scenario)

    def test_what_it_sees_has_roles_controls_and_states(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                site.pages["/"] = (
                    "<form><input required><input type=password><input type=date><select><option>a</select>"
                    "<textarea disabled></textarea><button>Go</button></form><div contenteditable>x</div>"
                    "<button hidden>no</button><iframe srcdoc='<button>in</button>' width=90 height=40></iframe>"
                )
                async with an_agent(tmp_path, site) as agent:
                    await agent.call("start_record")
                    nodes = (await agent.call("observe"))["nodes"]

            told = [(each["role"], each.get("control"), each.get("states")) for each in nodes]
            assert told == [
                ("textbox", "line", ["required"]),
                ("textbox", "secret", None),
                ("textbox", "date", None),
                ("combobox", "select", None),
                ("textbox", "text", ["disabled"]),
                ("button", "button", ["submits"]),
                ("textbox", "editable", None),
                ("button", "button", None),
            ]

        showing(scenario)


class TestEachStepIsSomebodys:
    """What the agent did is the agent's, what the person entered in a pause is the person's; secrets are nowhere."""

    def test_agent_and_person(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.call("start_record")
                    await agent.call("click", node=await agent.node("link"))
                    paused = await agent.call("pause_for_input", node=await agent.node("textbox"))
                    await agent.page.keyboard.type("the person's words")
                    went_on = await agent.call("continue_input")
                    await agent.call("click", node=await agent.node("button"))
                    await agent.call("stop_record")
                    events = recorded(tmp_path).events
            clicks = [event.actor for event in events if type(event.action).__name__ == "Clicked"]
            entered = [(event.actor, event.action.value) for event in events if isinstance(event.action, Entered)]

            assert ("paused", "input_recorded") == (paused["status"], went_on["status"])
            assert [(Actor.PERSON, "the person's words")] == entered
            assert [Actor.AGENT, Actor.AGENT] == clicks

        showing(scenario)

    def test_typed_text_is_the_agents(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.show_note("First line\nsecond line")
                    events = recorded(tmp_path).events
            entered = [(event.actor, event.action.value) for event in events if isinstance(event.action, Entered)]

            assert [(Actor.AGENT, "First line\nsecond line")] == entered

        showing(scenario)

    def test_a_secret_is_kept_nowhere(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.call("start_record")
                    await agent.call("click", node=await agent.node("link"))
                    await agent.call("pause_for_input", node=await agent.node("textbox"), secret=True)
                    await agent.page.keyboard.type("sesame-4711")
                    await agent.call("continue_input")
                    await agent.call("type", node=await agent.node("textbox"), text="open text")
                    await agent.call("click", node=await agent.node("button"))
                    await agent.call("stop_record")
                    recording = recorded(tmp_path)
            kinds = [type(event.action) for event in recording.events]

            assert (1, 1) == (kinds.count(SecretEntered), kinds.count(Entered))
            assert "sesame" not in repr_of(recording)
            assert "open text" in repr_of(recording)

        showing(scenario)

    def test_while_a_person_is_waited_for_nothing_is_seen_or_done(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site, screens=Screens.UNSCRUBBED) as agent:
                    await agent.call("start_record")
                    # The page's own script has what it asks for, so that whatever is asked later is somebody's act.
                    await agent.page.wait_for_function("shown.textContent !== ''")
                    link = await agent.node("link")
                    await agent.call("pause_for_input")
                    refused = [
                        problem_of(await agent.call("click", node=link)),
                        problem_of(await agent.call("type", node=link, text="x")),
                        problem_of(await agent.call("pause_for_input")),
                    ]
                    sentences = [(await agent.call(tool))["error"] for tool in ("observe", "screen")]

                    assert ["paused_for_person"] * 3 == refused
                    assert all("waits for the person" in sentence for sentence in sentences)
                    assert ["/", "/api/records"] == [path for path in site.asked if path != "/favicon.ico"]

        showing(scenario)


def repr_of(recording: object) -> str:
    """Everything in a recording, also what its repr leaves out."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - beside its one use

    return str(to_wire(recording))


class TestAPersonAdmits:
    """Two forms, each answered by the person; nothing else makes a workflow that can run."""

    def test_answers_then_admission(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.show_note("First note")
                    compiled = await agent.call("compile")
                    person = Person([accepts(ANSWERS), accepts(CONFIRMED)])
                    answered, admitted = await agent.call("admit", person.ask), await agent.call("admit", person.ask)
                    again = await agent.call("admit", person.ask)
                origin = site.origin
            folder = load_bundle(tmp_path / AUTHORED / "new_note")
            (listed,) = Registry(tmp_path).admissions()

            assert ["needs_human_admit", "needs_human_admit", "admitted"] == [
                each["status"] for each in (compiled, answered, admitted)
            ]
            assert "nothing_compiled" == problem_of(again)
            assert (origin,) == folder.bundle.origins
            assert listed.record is not None
            assert folder.digest == listed.record.bundle
            assert folder.digest[:12] in person.asked[1].message

        showing(scenario)

    @pytest.mark.parametrize(
        ("answers", "problem"),
        [
            ([accepts({})], "answers_refused"),
            ([accepts({**ANSWERS, "read_back.source": "stop"})], "answers_refused"),
            ([accepts(None)], "not_answered"),
            ([does(FormAnswer(Action.DECLINE))], "not_answered"),
            ([does(FormAnswer(Action.CANCEL, dict(ANSWERS)))], "not_answered"),
            ([accepts(ANSWERS), accepts({"confirm": False})], "not_confirmed"),
            ([accepts(ANSWERS), accepts({})], "not_confirmed"),
            ([accepts(ANSWERS), does(FormAnswer(Action.DECLINE, {"confirm": True}))], "not_confirmed"),
        ],
    )
    def test_anything_less_admits_nothing_and_can_be_asked_again(
        self, tmp_path: Path, answers: list[Does], problem: str
    ) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.show_note("First note")
                    await agent.call("compile")
                    person = Person(answers)
                    said = [await agent.call("admit", person.ask) for _ in answers]

                    assert problem == problem_of(said[-1])
                    assert () == Registry(tmp_path).admissions()

        showing(scenario)

    def test_a_client_without_forms_is_refused(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.show_note("First note")
                    await agent.call("compile")
                    told = await agent.call("admit")

                    assert "this client shows none" in told["error"]
                    assert not (tmp_path / AUTHORED).exists()

        showing(scenario)

    def test_an_argument_cannot_stand_for_the_person(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with an_agent(tmp_path, None) as agent:
                assert "does not declare" in (await agent.call("admit", confirm=True))["error"]

        showing(scenario)

    def test_a_second_workflow_has_a_name_of_its_own(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                for name in ("new_note", "new_note_2"):
                    async with an_agent(tmp_path / "state", site, bundles=tmp_path / "bundles") as agent:
                        await agent.show_note(f"Note of {name}")
                        await agent.call("compile")
                        said = await agent.call("admit", Person([accepts(ANSWERS)]).ask)

                        assert name == said["details"]["workflow"]
                        assert name == load_bundle(tmp_path / "bundles" / name).bundle.workflow

        showing(scenario)


class TestCommandsThatDoNotFitAreRefused:
    """Each refusal is a closed code; nothing is done and nothing is opened."""

    def test_before_anything_is_recorded(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    tools = ("stop_record", "continue_input", "compile", "admit", "get_command_result")
                    said = [problem_of(await agent.call(tool)) for tool in tools[:-1]]
                    said += [problem_of(await agent.call("click", node="n_00000000"))]

                    assert said == [
                        "not_recording",
                        "not_recording",
                        "nothing_recorded",
                        "nothing_compiled",
                        "not_recording",
                    ]
                    assert [] == site.asked

        showing(scenario)

    @pytest.mark.parametrize("target", ["macos", "windows", "linux", "rdp", "citrix"])
    def test_other_targets_by_name(self, tmp_path: Path, target: str) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    told = await agent.call("start_record", target=target)

                    assert ("target_not_served", True) == (problem_of(told), "flow engine" in told["what_happened"])
                    assert [] == site.asked

        showing(scenario)

    def test_nothing_pinned_and_no_app(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with an_agent(tmp_path, None) as agent:
                assert "not_bound" == (await agent.call("bind_status"))["status"]
                assert "nothing_pinned" == problem_of(await agent.call("start_record"))
            site = patient_site()
            site.close()
            async with an_agent(tmp_path, site) as agent:
                assert "app_unreachable" == problem_of(await agent.call("start_record"))

        showing(scenario)

    def test_nodes_places_fields_and_texts(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                site.pages["/"] = "<input id=line><input type=password><input type=checkbox><button>x</button>"
                async with an_agent(tmp_path, site) as agent:
                    await agent.call("start_record")
                    line, secret, box = [
                        each["id"] for each in (await agent.call("observe"))["nodes"] if each["role"] != "button"
                    ]
                    said = [
                        await agent.call("start_record"),
                        await agent.call("compile"),
                        await agent.call("continue_input"),
                        await agent.call("click", node="n_00000000"),
                        await agent.call("click"),
                        await agent.call("click", x=1),
                        await agent.call("click", node=line, x=1, y=1),
                        await agent.call("type", node=secret, text="x"),
                        await agent.call("type", node=box, text="x"),
                        await agent.call("type", node=line, text="two\nlines"),
                    ]
                    stale = line
                    await agent.call("observe")
                    said.append(await agent.call("click", node=stale))

                    assert [problem_of(each) for each in said] == [
                        "already_recording",
                        "already_recording",
                        "not_paused",
                        "node_unknown",
                        "node_or_place",
                        "node_or_place",
                        "node_or_place",
                        "secret_field",
                        "not_a_field",
                        "text_refused",
                        "node_unknown",
                    ]
                    assert "" == await agent.page.input_value("#line")

        showing(scenario)

    def test_an_element_that_is_gone_is_not_clicked(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                site.pages["/"] = "<div id=a><button onclick='document.title=1'>x</button></div>"
                async with an_agent(tmp_path, site) as agent:
                    await agent.call("start_record")
                    button = await agent.node("button")
                    await agent.page.evaluate("a.innerHTML = a.innerHTML")

                    assert "not_acted" == problem_of(await agent.call("click", node=button))
                    assert "" == await agent.page.title()
                    await agent.page.close()
                    assert "window_gone" == problem_of(await agent.call("click", x=1, y=1))

        showing(scenario)

    def test_what_no_workflow_can_be_made_of(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.call("start_record")
                    await agent.call("click", node=await agent.node("link"))
                    await agent.call("stop_record")
                    told = await agent.call("compile")

                    assert ("recording_refused", "no_save") == (
                        problem_of(told),
                        told["details"]["refusals"][0]["code"],
                    )

        showing(scenario)


class TestTheSessionIsTheAgents:
    """It can be ended without a trace, shows its last answer again, and keeps a hint that names nobody."""

    def test_halt_keeps_nothing(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.show_note("First note")
                    before = len(kept(tmp_path))
                    await agent.call("start_record", path="/new")
                    halted = await agent.call("halt")

                    assert (1, "halted", "idle") == (before, halted["status"], halted["session"])
                    assert [] == kept(tmp_path)
                    assert "nothing_recorded" == problem_of(await agent.call("compile"))

        showing(scenario)

    def test_two_demonstrations_are_compiled_together(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    await agent.show_note("First note")
                    await agent.show_note("Second note")
                    compiled = await agent.call("compile")

                    assert 2 == compiled["details"]["drafted"]["recordings"]

        showing(scenario)

    def test_the_last_answer_again(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with an_agent(tmp_path, None) as agent:
                nothing = await agent.call("get_command_result")
                hint = await agent.call("set_coach", hint="Save last.")

                assert Problem.COMMAND_UNKNOWN.value == problem_of(nothing)
                assert hint == await agent.call("get_command_result")
                assert hint == await agent.call("get_command_result", command_id=hint["command_id"])
                assert "command_unknown" == problem_of(await agent.call("get_command_result", command_id="cmd_9"))

        showing(scenario)

    def test_a_hint(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with an_agent(tmp_path, None) as agent:
                assert "details" not in await agent.call("get_coach")
                await agent.call("set_coach", hint="Save last.")
                refused = await agent.call("set_coach", hint="Call +49 151 234567")

                assert "hint_refused" == problem_of(refused)
                assert "Save last." == (await agent.call("get_coach"))["details"]["hint"]

        showing(scenario)

    def test_commands_come_one_after_another(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site) as agent:
                    said = await asyncio.gather(*(agent.call("start_record") for _ in range(3)))

                    assert ["recording", "refused", "refused"] == [each["status"] for each in said]

        showing(scenario)


class TestAScreenIsSharedOnlyAsTheOperatorSays:
    """Scrubbed it is a drawing of nodes; unscrubbed it is the window; without the flag there is no such tool."""

    @pytest.mark.parametrize("screens", list(Screens))
    def test_a_picture_in_the_pixels_of_the_page(self, tmp_path: Path, screens: Screens) -> None:
        async def scenario() -> None:
            with patient_site() as site:
                async with an_agent(tmp_path, site, screens=screens) as agent:
                    assert "No recording" in (await agent.call("screen"))["error"]
                    await agent.call("start_record")
                    await agent.call("observe")
                    facts = await agent.call("screen")
                    content = agent.said[-1]["content"][0]
                    size = agent.page.viewport_size
                    await agent.call("stop_record")
                    recording = recorded(tmp_path)

                assert {"scrubbed": screens is Screens.SCRUBBED} == facts
                assert ("image", "image/png") == (content["type"], content["mimeType"])
                assert size == size_of(content["data"])
                assert ["Opened"] == [type(event.action).__name__ for event in recording.events]

        showing(scenario)

    def test_a_drawing_is_the_same_whatever_the_page_says(self, tmp_path: Path) -> None:
        async def drawn(agent: Agent) -> str:
            await agent.call("screen")
            return str(agent.said[-1]["content"][0]["data"])

        async def scenario() -> None:
            with patient_site() as site:
                site.pages["/"] = "<button style='width:99px;height:40px;overflow:hidden'>one</button>"
                async with an_agent(tmp_path, site, screens=Screens.SCRUBBED) as agent:
                    await agent.call("start_record")
                    await agent.call("observe")
                    first = await drawn(agent)
                    await agent.page.evaluate("document.querySelector('button').textContent = 'canary'")
                    second = await drawn(agent)
                    await agent.page.evaluate("document.querySelector('button').style.width = '300px'")
                    await agent.call("observe")

                    assert first == second
                    assert first != await drawn(agent)

        showing(scenario)

    def test_without_the_flag_there_is_none(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with an_agent(tmp_path, None) as agent:
                listed = (await agent.table.listing())["tools"]

                assert "screen" not in str(listed)
                assert 14 == len(list(listed))  # type: ignore[call-overload] # a list

        showing(scenario)


def size_of(data: str) -> dict[str, int]:
    """The size of a PNG."""
    from base64 import b64decode  # noqa: PLC0415 - beside its one use

    width, height = struct.unpack(">II", b64decode(data)[16:24])
    return {"width": width, "height": height}
