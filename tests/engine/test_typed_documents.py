"""Working context with a type: who shares a document, which version is read, and what becomes of two writes at once."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil import Document, DocumentMoved, Refused, Run
from counterfoil.agents import agent_tool, current_run, working_context
from counterfoil.model.codec import compact, digest_of
from counterfoil.model.conversation import Turn
from tests.engine.house import BUDGET, House
from tests.engine.talks import Go, go


class Preferences(BaseModel):
    """What is known of somebody."""

    notes: list[str] = []


def noted(text: str) -> Any:
    return lambda before: Preferences(notes=[*before.notes, text])


class Talks:
    """A house with an agent without a model: `add X` writes X, anything else reads. Each turn's result is what it read."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **declared: Any) -> None:
        self.house = House(folder, monkeypatch)
        self.document: Document[Preferences] = self.house.app.document("preferences", Preferences, **declared)
        for name in ("desk", "other"):
            self._agent(name)
        self.house.found()

    def _agent(self, name: str) -> None:
        async def body(run: Run, turn: Turn) -> list[str]:
            if turn.text.startswith("add "):
                await self.document.change(run, noted(turn.text))
            seen = await run.document(self.document)
            if turn.text == "wait":
                await run.wait_for("go", Go, within=timedelta(days=9))
                again = await run.document(self.document, noted("late")(seen.value), after=seen)
                return again.value.notes
            return [*seen.value.notes, f"version {seen.version}"]

        body.__name__ = body.__qualname__ = name
        self.house.app.workflow(version=1, budget=BUDGET)(body)

    async def said(self, text: str, conversation: str = "c", agent: str = "desk") -> Any:
        house = self.house
        sent = await house.app.conversations.send(
            text, conversation=conversation, request_id=f"{conversation} {text}", agent=agent
        )
        run = await house.state(sent["run_id"], "completed", "parked", "failed", "waiting")
        return house.app.runs.show(run.run_id)["result"]


def resealed(file: bytes) -> bytes:
    """A file whose last line fits what is before it again."""
    lines = file.splitlines(keepends=True)[:-1]
    end = {"type": "end", "lines": len(lines), "digest": digest_of(b"".join(lines))}
    return b"".join(lines) + (compact(end) + "\n").encode()


def driven(talks: Talks, body: Any) -> None:
    async def all_of_it() -> None:
        async with talks.house.working():
            await body()
        talks.house.clean()

    asyncio.run(all_of_it())
    talks.house.app.close()


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda **declared: Talks(tmp_path, monkeypatch, **declared)


def test_a_conversations_turns_share_its_document_and_nobody_else_does(make: Any) -> None:
    talks: Talks = make()

    async def body() -> None:
        assert await talks.said("read") == ["version 0"]
        assert await talks.said("add a") == ["add a", "version 1"]
        assert await talks.said("add b") == ["add a", "add b", "version 2"]
        assert await talks.said("read", "d") == ["version 0"]
        (document,) = talks.house.app.documents.list()["items"]
        shown = talks.house.app.documents.show(f"doc-{document['number']}")
        assert (shown["name"], shown["scope"], shown["version"]) == ("preferences", "conversation", 2)
        assert [(v["version"], v["body"]["notes"], v["written_by"]["request_id"]) for v in shown["versions"]] == [
            (2, ["add a", "add b"], "c add b"), (1, ["add a"], "c add a"),
        ]  # fmt: skip

    driven(talks, body)


def test_every_conversation_of_an_agent_shares_the_agents_document(make: Any) -> None:
    talks: Talks = make(scope="agent")

    async def body() -> None:
        await talks.said("add a", "c")
        assert await talks.said("read", "d") == ["add a", "version 1"]
        assert await talks.said("read", "e", "other") == ["version 0"]

    driven(talks, body)


def test_a_run_alone_has_a_document_of_its_own(make: Any) -> None:
    talks: Talks = make(scope="run")

    async def body() -> None:
        assert await talks.said("add a") == ["add a", "version 1"]
        assert await talks.said("read") == ["version 0"]

    driven(talks, body)


def test_conversations_that_name_the_same_key_share_what_lies_under_it(make: Any) -> None:
    talks: Talks = make(scope="key", setting="customer")

    async def body() -> None:
        app = talks.house.app
        assert await talks.said("read") is None
        failure = app.runs.list()["items"][0]["failure"]
        assert failure is not None and "document_without_key" in str(failure)
        for name in ("c", "d", "e"):
            if name != "c":
                await talks.said("read", name, "other")
            await app.conversations.settings(name, changes={"customer": 17 if name != "e" else 18})
        await talks.said("add a", "c")
        assert await talks.said("again", "d", "other") == ["add a", "version 1"]
        assert await talks.said("again", "e", "other") == ["version 0"]

    driven(talks, body)


def test_of_two_writes_behind_one_version_the_second_is_refused_and_reads_anew(make: Any) -> None:
    talks: Talks = make(scope="agent")

    async def body() -> None:
        house = talks.house
        sent = await house.app.conversations.send("wait", conversation="c", request_id="slow", agent="desk")
        await house.state(sent["run_id"], "waiting")
        await talks.said("add a", "d")
        await go(house, sent["run_id"])
        run = await house.state(sent["run_id"], "parked")
        assert "version 1; version 0 was read" in run.sentence
        assert await talks.said("read", "e") == ["add a", "version 1"], "what came second was not written"
        assert [data["failure"]["code"] for kind, _, data in house.entries(run.run_id) if kind == "step_failed"] == [
            "document_moved"
        ]

    driven(talks, body)


def test_a_refused_write_can_be_answered_and_a_replay_reads_what_was_read_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path, monkeypatch)
    shared: Document[Preferences] = house.app.document("preferences", Preferences, scope="agent")
    reads: list[tuple[int, str]] = []

    @house.app.workflow(version=1, budget=BUDGET)
    async def desk(run: Run, turn: Turn) -> str:
        seen = await run.document(shared)
        reads.append((seen.version, turn.text))
        if turn.text != "slow":
            await run.document(shared, noted(turn.text)(seen.value), after=seen)
            return "written"
        await run.sleep(timedelta(hours=1))
        try:
            await run.document(shared, noted("slow")(seen.value), after=seen)
        except DocumentMoved as moved:
            assert (moved.name, moved.seen, moved.newest) == ("preferences", 0, 1)
            newer = await shared.change(run, noted("slow"))
            return f"{moved.code}, then {newer.value.notes} as version {newer.version}"
        return "not refused"

    async def story() -> None:
        house.found()
        async with house.working():
            slow = await house.app.submit(desk, Turn(text="slow"), request_id="slow")
            await house.state(slow.run_id, "waiting")
            fast = await house.app.submit(desk, Turn(text="fast"), request_id="fast")
            assert await fast.result() == "written"
            house.clock.advance(3600)
            assert await slow.result() == "document_moved, then ['fast', 'slow'] as version 2"
        assert [version for version, text in reads if text == "slow"] == [0, 0], (
            "replayed: the version that was read then"
        )
        house.clean()

    asyncio.run(story())


def test_a_fork_sees_the_versions_up_to_its_fork_point_and_goes_its_own_way(make: Any) -> None:
    talks: Talks = make()

    async def body() -> None:
        app = talks.house.app
        for text in ("add 1", "add 2", "add 3"):
            await talks.said(text)
        await app.conversations.fork("c", into="early", at=1)
        await app.conversations.fork("c", into="late")
        await talks.said("add 4")
        assert await talks.said("read", "early") == ["add 1", "version 1"]
        assert await talks.said("add x", "early") == ["add 1", "add x", "version 2"]
        assert await talks.said("read", "late") == ["add 1", "add 2", "add 3", "version 3"]
        await app.conversations.fork("early", into="of early")
        assert await talks.said("read", "of early") == ["add 1", "add x", "version 2"]
        await app.conversations.fork("early", into="before early", at=1)
        assert await talks.said("read", "before early") == ["add 1", "version 1"]
        assert await talks.said("again") == ["add 1", "add 2", "add 3", "add 4", "version 4"]
        shown = app.conversations.show("of early")["documents"]
        assert [(each["name"], each["version"], each["conversation"]) for each in shown] == [
            ("preferences", 2, "early")
        ]

    driven(talks, body)


def test_documents_go_along_with_the_conversations_file(make: Any) -> None:
    talks: Talks = make()

    async def body() -> None:
        app = talks.house.app
        await talks.said("add 1")
        await talks.said("add 2")
        await app.conversations.fork("c", into="f", at=1)
        await talks.said("add x", "f")
        file = app.conversations.export_jsonl("f")
        await app.conversations.import_jsonl(file, name="there")
        assert (await app.conversations.import_jsonl(file, name="there"))["admitted"] == "existing"
        assert await talks.said("read", "there") == ["add 1", "add x", "version 2"]
        assert await talks.said("add y", "there") == ["add 1", "add x", "add y", "version 3"]
        broken = resealed(file.replace(b'"name":"preferences","version":2', b'"name":"preferences","version":3'))
        with pytest.raises(Refused, match="no version 3 of preferences"):
            await app.conversations.import_jsonl(broken, name="broken")

    driven(talks, body)


def test_what_cannot_be_declared_or_written_is_refused(make: Any) -> None:
    talks: Talks = make()
    app = talks.house.app

    class Named(BaseModel):
        name: str

    for given in ({"scope": "world"}, {"type": dict}, {"type": Named}, {"setting": "customer"}, {"name": " "}):
        wanted: dict[str, Any] = {"name": "other", "type": Preferences} | given
        with pytest.raises(Refused) as told:
            app.document(wanted.pop("name"), wanted.pop("type"), **wanted)
        assert told.value.code == "document_unfit"
    with pytest.raises(Refused, match="name_taken"):
        app.document("preferences", Preferences)
    assert app.document("named", Named, default=Named(name="x"), scope="key").of("17").bound == "17"
    with pytest.raises(ValueError, match="has the scope conversation"):
        talks.document.of("17")


class Desk:
    """An agent with a model that is told its working context, and a tool that writes into it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house = House(folder, monkeypatch)
        self.told: list[str] = []
        preferences: Document[Preferences] = self.house.app.document("preferences", Preferences, scope="agent")
        customer: Document[Preferences] = self.house.app.document(
            "customer", Preferences, scope="key", setting="customer"
        )
        self.agent = Agent(
            FunctionModel(self.answer), instructions=["You help.", working_context(preferences, customer)]
        )

        @self.agent.tool_plain
        @agent_tool(replay="run")
        async def remember(note: str) -> str:
            written = await preferences.change(current_run(), noted(note))
            return f"version {written.version}"

        self.house.app.agent("desk", agent=self.agent, budget=BUDGET)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        newest = messages[-1]
        assert isinstance(newest, ModelRequest)
        self.told.append(info.instructions or "")
        said = newest.parts[-1]
        if isinstance(said, UserPromptPart) and str(said.content).startswith("remember "):
            return ModelResponse(parts=[ToolCallPart("remember", {"note": str(said.content)[9:]}, "call-1")])
        return ModelResponse(parts=[TextPart("done")])


def test_an_agent_is_told_its_documents_before_each_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, monkeypatch)

    async def story() -> None:
        house = desk.house
        house.found()
        async with house.working():
            for text in ("remember tea", "hello"):
                sent = await house.app.conversations.send(text, conversation=text, request_id=text, agent="desk")
                await house.state(sent["run_id"], "completed")
            assert 'preferences (version 0): {"notes":[]}' in desk.told[0] and "customer" not in desk.told[0]
            assert all('preferences (version 1): {"notes":["tea"]}' in each for each in desk.told[1:])
            assert len(desk.told) == 3 and all(each.startswith("You help.") for each in desk.told)
            await house.app.conversations.settings("hello", changes={"customer": "17"})
            sent = await house.app.conversations.send("more", conversation="hello", request_id="more", agent="desk")
            await house.state(sent["run_id"], "completed")
            assert "customer (version 0)" in desk.told[-1]
        house.clean()

    asyncio.run(story())
    assert asyncio.run(desk.agent.run("hello")).output == "done"
    assert desk.told[-1] == "You help.", "an agent that is run by itself has no working context"


def test_at_a_desk_a_version_is_read_by_who_reads_its_writers_working_context(make: Any) -> None:
    talks: Talks = make(scope="key", setting="customer")

    async def body() -> None:
        app = talks.house.app
        await talks.said("read", "c")
        await talks.said("read", "d", "other")
        for name in ("c", "d"):
            await app.conversations.settings(name, changes={"customer": "17"})
        await talks.said("add a", "c")
        await talks.said("add b", "d", "other")

    driven(talks, body)
    app = talks.house.app
    ana = app.desk(app.access.in_development("ana"))
    assert [v["body"] for v in ana.documents.show("doc-1")["versions"]] == [
        {"notes": ["add a", "add b"]}, {"notes": ["add a"]},
    ]  # fmt: skip
    for role in ("manager", "lead", "ops"):
        asyncio.run(app.access.grants.grant(role, "read", workflow="desk", kind="working_context"))
    shown = ana.documents.show("doc-1")["versions"]
    assert [(v["body"], v["withheld"]) for v in shown] == [(None, ["working_context"]), ({"notes": ["add a"]}, [])]
    assert shown[0]["written_by"] is None and shown[1]["written_by"]["request_id"] == "c add a"
    assert [each["number"] for each in ana.documents.list()["items"]] == [1]
    assert [hit["kind"] for hit in ana.find("doc-1")["items"]] == ["document"]


def test_what_a_run_read_and_wrote_stands_in_its_working_context(make: Any) -> None:
    talks: Talks = make(scope="agent")

    async def body() -> None:
        await talks.said("add a", "c")
        await talks.said("add b", "c")
        await talks.said("read", "d")

    driven(talks, body)
    app = talks.house.app
    used = {run: app.evidence.documents(run)["items"] for run in ("run-1", "run-2", "run-3")}
    assert [(d["how"], d["version"], d["before"]) for d in used["run-2"]] == [("wrote", 2, 1), ("read", 1, None)]
    assert [(d["how"], d["version"], d["newest"]) for d in used["run-3"]] == [("read", 2, True)]
    assert used["run-2"][0]["lines"] and not used["run-3"][0]["lines"]
    shown = app.runs.show("run-2")["records"]["working_context"]
    assert [(d["name"], d["version"]) for d in shown] == [("preferences", 2)]
