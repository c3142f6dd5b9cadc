"""Clients that offer a model, for both protocol eras, and the plans that they are asked about.

Laws:

- The model is a function of what the server sends. What was asked is kept as it came over the wire.
- A call is carried to its end in either era: by answers while it waits, or by calling again with the answer.
"""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from attrs import define, field

from support.mcp_clients import INITIALIZE, MODERN_META, Json, RawClient, environment, result_of_answer, structured

#: Seconds for one line of a server on a busy machine.
LONG: Final = 240.0

SAMPLING: Final[Json] = {"sampling": {}}

#: A model: the answer of ``sampling/createMessage`` for its parameters; ``None`` for an error, ``...`` for none at all.
Model = Callable[[Json], Any]

#: A goal, then a note that says what was found, then a branch on what became of that.
PLAN: Final = """\
schema = "surehand.plan/v1"
definition_id = "find_then_note"
title = "Find a referral, add a note, and one more when it is proven"

[[parameters]]
name = "patient"
type = "line"
title = "Patient"

[[steps]]
kind = "planned_goal_step"
step_id = "find"
goal = "Read the record number of {patient} as record_number."
outputs = { number = "record_number" }

[[steps]]
kind = "skill_invocation_step"
step_id = "note"
skill_id = "add_triage_note"
args = { note = "Seen: {number}", sandbox_case = "normal" }
if_failed = "was_it_saved"

[[steps]]
kind = "branch_step"
step_id = "was_it_saved"
condition = { kind = "run_outcome_is", params = { step_id = "note", outcome = "done" } }
on_true = "follow_up"
on_false = "end"

[[steps]]
kind = "skill_invocation_step"
step_id = "follow_up"
skill_id = "add_triage_note"
args = { note = "Follow-up of {number}", sandbox_case = "normal" }
"""


#: The same with a note more when the first one is not proven.
SHORTER: Final = (
    PLAN.replace('on_true = "follow_up"', 'on_true = "*"').replace('"end"', '"follow_up"').replace('"*"', '"end"')
)


def plans_in(folder: Path, plan: str = PLAN) -> Path:
    """A folder that holds the plan."""
    folder.mkdir(exist_ok=True)
    (folder / "find_then_note.toml").write_text(plan)
    return folder


def says(text: str) -> Json:
    """A model's answer of one text."""
    return {"role": "assistant", "model": "scripted", "content": {"type": "text", "text": text}}


def decides(**action: str) -> Json:
    """A model's answer that is a decision."""
    return says(json.dumps({"action": action}))


def asked(params: Json) -> Json:
    """The JSON object that a model is shown."""
    (message,) = params["messages"]
    shown: Json = json.loads(message["content"]["text"])
    return shown


def start(request_id: str, patient: str, **more: object) -> Json:
    """Arguments of ``start_plan``."""
    inputs: Json = {"patient": patient}
    return {"plan": "find_then_note", "inputs": inputs, "request_id": request_id, "wait_seconds": 120, **more}


class Talk(Protocol):
    """A client of one era, with a model."""

    prompts: list[Json]
    client: RawClient

    def call(self, tool: str, arguments: Json, model: Model) -> Json:
        """The structured answer of a call that is carried to its end."""
        ...


@define
class HandshakeTalk:
    """The server asks while the call waits."""

    client: RawClient
    prompts: list[Json] = field(factory=list[Json])

    def call(self, tool: str, arguments: Json, model: Model) -> Json:
        """As the protocol says."""
        number = self.client.begin_call(tool, arguments)
        while True:
            said = self.client.next(LONG)
            assert said is not None
            if said.get("method") == "sampling/createMessage":
                self._answer(said, model)
            elif "method" not in said and said["id"] == number:
                return structured(result_of_answer(said))

    def _answer(self, said: Json, model: Model) -> None:
        self.prompts.append(said["params"])
        answer = model(said["params"])
        if answer is None:
            refused = {"code": -1, "message": "canary of a person who refused"}
            self.client.send({"jsonrpc": "2.0", "id": said["id"], "error": refused})
        elif answer is not ...:
            self.client.send({"jsonrpc": "2.0", "id": said["id"], "result": answer})


@define
class ModernTalk:
    """The call ends with the prompt, and is made again with the answer; at most ten times, as clients do."""

    client: RawClient
    capabilities: Json
    prompts: list[Json] = field(factory=list[Json])
    rounds: list[int] = field(factory=list[int])

    def params(self, tool: str, arguments: Json) -> Json:
        """The parameters of a call."""
        meta = {**MODERN_META, "io.modelcontextprotocol/clientCapabilities": self.capabilities}
        return {"name": tool, "arguments": arguments, "_meta": meta}

    def send(self, params: Json) -> Json:
        """The result of one call as it is made."""
        return result_of_answer(self.client.answer(self.client.begin("tools/call", params), LONG))

    def call(self, tool: str, arguments: Json, model: Model) -> Json:
        """As the protocol says."""
        params = self.params(tool, arguments)
        result = self.send(params)
        self.rounds.append(0)
        while result.get("resultType") == "input_required":
            self.rounds[-1] += 1
            assert self.rounds[-1] <= 10, "clients give up here"
            ((key, request),) = result["inputRequests"].items()
            assert request["method"] == "sampling/createMessage"
            self.prompts.append(request["params"])
            answer = model(request["params"])
            if answer is None or answer is ...:
                return {}
            again = {"inputResponses": {key: answer}, "requestState": result["requestState"]}
            result = self.send({**params, **again})
        return structured(result)


@contextmanager
def talking(era: str, command: list[str], capabilities: Json = SAMPLING, **env: str) -> Generator[Talk]:
    """A client of an era, with a server of its own."""
    with RawClient(command, environment(None, **env)) as client:
        if era == "modern":
            yield ModernTalk(client, capabilities)
        else:
            opening = {**INITIALIZE, "protocolVersion": "2025-11-25", "capabilities": capabilities}
            client.answer(client.begin("initialize", opening), LONG)
            client.notify("notifications/initialized")
            yield HandshakeTalk(client)
