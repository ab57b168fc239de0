"""A conversation's file whose digest fits and whose inside does not: refused whole with the line, or everything works with it.

Nobody signs the digest, so whoever writes a file can make it fit.
"""

import asyncio
import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo

from counterfoil.agents import agent_tool
from counterfoil.app.decision_usage import calls_in, summed
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunRecord
from tests.engine.house import BUDGET, House
from tests.engine.talks import refused
from tests.engine.test_agent_turn import agent_with, calls
from tests.engine.test_conversation_files import lines_of, sealed

WRONG: list[Any] = [None, "x", -1, 10**30, 1.5, [], {}, [1], {"artifact": "sha256:" + "0" * 64}, "a\ud800", True]
LONG = "long " * 10_000


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    del info
    if isinstance(messages[-1].parts[-1].content, str) and messages[-1].parts[-1].content == "read":  # type: ignore[union-attr]
        return calls("look")
    return ModelResponse(parts=[TextPart(LONG if "long" in str(messages[-1]) else "fine")])


@pytest.fixture
def talked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[House, list[dict[str, Any]]]:
    """A conversation with a tool, an answer that is an artifact, and a compaction; and its file."""
    house = House(tmp_path, monkeypatch)
    agent = agent_with(answer)

    @agent.tool_plain
    @agent_tool(replay="safe")
    def look() -> str:
        return "seen"

    house.app.agent("desk", agent=agent, budget=BUDGET)
    house.found()

    async def story() -> bytes:
        talks = house.app.conversations
        async with house.working():
            for text in ("read", "say something long", "more"):
                sent = await talks.send(text, conversation="c", request_id=text, agent="desk")
                await house.state(sent["run_id"], "completed")
            sent = await talks.compact("c")
            await house.state(sent["run_id"], "completed")
        return talks.export_jsonl("c")

    return house, lines_of(asyncio.run(story()))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands that may be of a wrong type: each field, and of a list its first item."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, each in cast("dict[str, Any]", value).items():
            yield from places(each, (*path, name))
    elif isinstance(value, list):
        for each in cast("list[Any]", value)[:1]:
            yield from places(each, (*path, 0))


def changed(lines: list[dict[str, Any]], line: int, path: tuple[Any, ...], value: Any) -> list[dict[str, Any]]:
    after = copy.deepcopy(lines)
    at: Any = after[line]
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return after


def test_each_field_of_a_wrong_type_is_refused_or_harmless(talked: tuple[House, list[dict[str, Any]]]) -> None:
    house, lines = talked
    kinds = {(line["type"], line.get("kind")) for line in lines}
    assert {("entry", "asked"), ("entry", "decision"), ("entry", "message"), ("artifact", None)} <= kinds
    once: dict[tuple[Any, ...], int] = {}  # each kind of line once, and each of its fields
    for number, line in enumerate(lines):
        for path in places(line):
            once.setdefault((line["type"], line.get("kind"), line.get("name", "")[:4], *path), number)
    tried, accepted = 0, list[str]()

    async def story() -> None:
        nonlocal tried
        talks = house.app.conversations
        for n, (field, number) in enumerate(once.items()):
            for value in (WRONG[(n + each * 4) % len(WRONG)] for each in range(3)):
                tried += 1
                content = sealed(changed(lines, number, field[3:], value))
                try:
                    taken = await talks.import_jsonl(content, name=f"copy {tried}")
                except Refused as told:
                    assert told.code in ("malformed_export", "unknown_workflow"), (field, value, told)
                    assert told.code != "malformed_export" or told.details["line"] >= number + 1, (field, value, told)
                else:
                    accepted.append(taken["name"])
        with_conversations = house.app.decisions.usage(by="tool")
        assert with_conversations["total"]["asked"] > 0
        async with house.working():
            for name in accepted:
                talks.show(name)
                talks.export_jsonl(name)
                try:
                    sent = await talks.send("and now?", conversation=name, request_id=f"r {name}")
                except Refused as told:
                    assert told.code == "unknown_workflow", (name, told)
                    continue
                run = await house.state(sent["run_id"], "completed", "failed", "parked", "waiting")
                assert run.state.value == "completed", (name, run.sentence, run.failure)
        house.app.decisions.list()
        house.clean()

    asyncio.run(story())
    assert tried > 200 and 0 < len(accepted) < tried / 2, (tried, len(accepted))


DAMAGE: dict[str, tuple[str, dict[str, Any]]] = {
    "a question without its messages": ("asked", {"data": {}}),
    "an answer without an output": ("decision", {"data": {}}),
    "an unknown question": ("asked", {"name": "guess desk"}),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_an_entry_that_could_not_be_read_is_named(talked: tuple[House, list[dict[str, Any]]], what: str) -> None:
    house, lines = talked
    kind, change = DAMAGE[what]
    number = next(n for n, line in enumerate(lines) if line.get("kind") == kind)
    lines[number] |= change
    told = asyncio.run(refused("malformed_export", house.app.conversations.import_jsonl(sealed(lines), name="d")))
    assert told.details["line"] == number + 1


def test_settings_are_those_that_could_be_set(talked: tuple[House, list[dict[str, Any]]]) -> None:
    house, lines = talked
    lines[0]["settings"] = {"when_busy": "never"}
    told = asyncio.run(refused("malformed_export", house.app.conversations.import_jsonl(sealed(lines), name="d")))
    assert told.details["line"] == 1 and "when_busy" in told.message


def test_an_artifact_that_is_gone_is_no_file_without_it(talked: tuple[House, list[dict[str, Any]]]) -> None:
    house, lines = talked
    digest = next(line["digest"] for line in lines if line["type"] == "artifact" and "long" in line["content"])
    without = [line for line in lines if line.get("digest") != digest]
    told = asyncio.run(refused("malformed_export", house.app.conversations.import_jsonl(sealed(without), name="d")))
    assert digest in told.message
    place = house.app.open().location
    (place.with_name(place.name + ".artifacts") / digest[7:9] / digest[9:]).unlink()
    with pytest.raises(Refused) as gone:
        house.app.conversations.export_jsonl("c")
    assert gone.value.code == "artifact_missing"


@pytest.mark.parametrize(
    "data", [{"usage": {"input_tokens": "many"}}, {"usage": [1], "cost_micros": "much"}, {"output": 7}]
)
def test_one_record_that_cannot_be_measured_takes_no_others_along(
    talked: tuple[House, list[dict[str, Any]]], data: dict[str, Any]
) -> None:
    """As an earlier release imported it."""
    house, _ = talked
    with house.app.open().read() as reader:
        run = next(run for run in reader.rows(RunRecord) if run.workflow == "desk")
        entries = reader.entries(run.run_id)

    def broken(entry: Entry) -> Entry:
        body = json.loads(entry.body)
        return replace(entry, body=compact(body | {"data": body["data"] | data}))

    forged = [broken(entry) if entry.kind is EntryKind.DECISION else entry for entry in entries]
    for by in ("model", "tool", "day"):
        found = summed([*calls_in(run, entries), *calls_in(run, forged)], by, house.app.open().artifacts.whole)
        assert found["total"]["decisions"] == 4 and found["total"]["input_tokens"] > 0
