"""A request id is one message of its conversation, for ever: after a handoff, a reset, a fork, an import, in one batch, and
in a database of an earlier release."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterfoil.engine.admission import Admit, Seen, seen_of
from counterfoil.engine.submission import submission
from counterfoil.model import ids
from counterfoil.model.conversation import TurnRecord, message_key
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.store.migrate import migrations
from counterfoil.store.port import Read
from tests.engine.house import House
from tests.engine.talks import Go, refused, send, turns


class Lying(Admit):
    """A verb that takes no look at what was accepted before."""

    def reads(self) -> Any:
        return [*Admit.reads(self), Read.key(TurnRecord, self.conversation)]

    def decide(self, tx: Any) -> Any:
        tx.put(self.begun(tx))
        tx.put(replace(tx.get(TurnRecord, self.conversation), run_id=self.run_id, n=2))
        tx.append(self.run_id, EntryKind.SUBMITTED, name=self.workflow, data=self.said())


async def answered(house: House, text: str, request_id: str, **more: Any) -> dict[str, Any]:
    async with house.working():
        sent = await send(house, text, request_id, **more)
        await house.state(sent["run_id"], "completed")
    return sent


@pytest.mark.parametrize("agent", [None, "complaints", "refunds"])
def test_after_a_handoff_it_is_found_and_nothing_is_said_twice(talking: House, agent: str | None) -> None:
    async def story() -> None:
        first = await answered(talking, "hello", "r")
        await talking.app.conversations.handoff("c", to="complaints")
        again = await send(talking, "hello", "r", agent=agent)
        assert (again["admitted"], again["run_id"], again["turn"]) == ("existing", first["run_id"], 1)
        assert (again["state"], again["result"]) == ("completed", "hello")
        other = await refused("request_conflict", send(talking, "other", "r", agent=agent))
        assert other.details["run_id"] == first["run_id"]
        assert other.details["stored"] != other.details["given"]
        own = await send(talking, "more", "r 2", agent="complaints")
        await talking.app.conversations.handoff("c", to="refunds")
        assert (await send(talking, "more", "r 2"))["run_id"] == own["run_id"]
        assert turns(talking) == [(1, "message", "hello"), (2, "handoff", "more")]
        talking.clean()

    asyncio.run(story())


def test_a_steer_that_was_read_is_found_after_a_handoff(talking: House) -> None:
    async def story() -> None:
        async with talking.working():
            first = await send(talking, "steered", "r")
            await talking.state(first["run_id"], "waiting")
            steer = await send(talking, "and this", "s", when_busy="steer")
            await talking.app.signal(first["run_id"], "go", Go(), signal_id="go")
            await talking.state(first["run_id"], "completed")
        await talking.app.conversations.handoff("c", to="complaints")
        again = await send(talking, "and this", "s", agent=None)
        assert (again["admitted"], again["run_id"], again["into"]) == ("existing", steer["run_id"], first["run_id"])
        talking.clean()

    asyncio.run(story())


def test_a_reset_makes_no_new_message_of_it(talking: House) -> None:
    async def story() -> None:
        first = await answered(talking, "hello", "r")
        await talking.app.conversations.reset("c")
        await talking.app.conversations.handoff("c", to="complaints")
        assert (await send(talking, "hello", "r", agent=None))["run_id"] == first["run_id"]
        assert len(turns(talking)) == 1

    asyncio.run(story())


def test_a_fork_refuses_the_ids_of_what_it_was_forked_from(talking: House) -> None:
    """Its own past was answered elsewhere, under another name: that is other content."""

    async def story() -> None:
        talks = talking.app.conversations
        first = await answered(talking, "hello", "r")
        await talks.fork("c", into="d")
        await talks.fork("d", into="e")
        for name in ("d", "e"):
            for agent in ("refunds", "complaints"):
                if agent == "complaints":
                    await talks.handoff(name, to=agent)
                conflict = await refused(
                    "request_conflict", send(talking, "hello", "r", conversation=name, agent=agent)
                )
                assert conflict.details["run_id"] == first["run_id"]
        own = await answered(talking, "hello", "r 2", conversation="d", agent="complaints")
        await talks.handoff("d", to="refunds")
        assert (await send(talking, "hello", "r 2", conversation="d", agent=None))["run_id"] == own["run_id"]
        assert turns(talking, "d") == [(1, "message", "hello"), (2, "handoff", "hello")]
        talking.clean()

    asyncio.run(story())


def test_what_was_imported_is_not_said_again(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        await answered(talking, "hello", "r")
        await talks.import_jsonl(talks.export_jsonl("c"), name="d")
        await talks.import_jsonl(talks.export_jsonl("d"), name="e")
        for name in ("d", "e"):
            again = await send(talking, "hello", "r", conversation=name, agent=None)
            assert (again["admitted"], again["turn"], again["conversation"]) == ("existing", 1, name)
            await refused("request_conflict", send(talking, "other", "r", conversation=name, agent=None))
            assert len(turns(talking, name)) == 1
        talking.clean()

    asyncio.run(story())


def test_two_agents_at_once_admit_it_once(talking: House) -> None:
    """Two programs that read before the handoff and after it: whoever commits second looks again, and finds the first."""

    async def story() -> None:
        await answered(talking, "before", "r 0")
        opened = talking.app.open()
        here = opened.installation_id
        conversation_id = ids.conversation_id(here, "c")
        with opened.read() as reader:
            stale = seen_of(reader, conversation_id, "r")
        given = {"text": "hello", "conversation": "c"}
        verbs = [
            Admit.of(
                submission(here, opened.registry.newest(agent), given, "r", opened.deadlines), here, "c", stale
            )
            for agent in ("refunds", "complaints")
        ]  # fmt: skip
        first = await opened.write(verbs[0])
        await talking.app.conversations.handoff("c", to="complaints")
        assert await opened.write(verbs[1]) is None
        found = await send(talking, "hello", "r", agent="complaints")
        assert (found["admitted"], found["run_id"]) == ("existing", first.run_id)
        with ThreadPoolExecutor(4) as pool:
            sent = list(pool.map(lambda n: asyncio.run(send(talking, "at once", "s", **_at(n))), range(8)))
        assert len({each["run_id"] for each in sent}) == 1
        assert len(turns(talking)) == 3
        talking.clean()

    asyncio.run(story())


def _at(n: int) -> dict[str, Any]:
    return {"agent": (None, "complaints")[n % 2], "when_busy": "follow_up"}


def test_the_database_itself_takes_no_second_one(talking: House) -> None:
    """Should a verb ever be wrong about it, its commit is refused."""

    async def story() -> None:
        first = await answered(talking, "hello", "r")
        opened = talking.app.open()
        begun = submission(
            opened.installation_id, opened.registry.newest("complaints"), {"text": ""}, "r", opened.deadlines
        )
        with pytest.raises(Refused) as told:
            await opened.write(Lying.of(begun, opened.installation_id, first["run_id"], Seen()))
        assert "message_key" in str(told.value)

    asyncio.run(story())


def test_a_database_of_an_earlier_release_finds_its_messages(tmp_path: Path) -> None:
    """Each turn gets the id that its run was submitted under; where it was accepted twice, the first answers for it."""
    connection = apsw.Connection(str(tmp_path / "old.db"))
    (mine,) = [step for step in migrations() if step.name == "message_keys"]
    for step in migrations()[: mine.number - 1]:
        connection.execute(step.sql)
    names = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
    required = {row[1]: row[2] for row in connection.execute("PRAGMA table_info(runs)") if row[3] or row[5]}
    for n, (run_id, request_id) in enumerate([("run_a", "r"), ("run_b", "r"), ("run_c", "s")], start=1):
        row = {name: {"INTEGER": 0, "BLOB": b"", "TEXT": ""}[kind] for name, kind in required.items()}
        row |= {"run_id": run_id, "number": n, "request_id": request_id, "state": "completed", "workflow": f"w{n}"}
        columns = [name for name in names if name in row]
        marks = ", ".join("?" for _ in columns)
        connection.execute(f"INSERT INTO runs ({', '.join(columns)}) VALUES ({marks})", [row[c] for c in columns])
    connection.execute(
        "INSERT INTO conversations (conversation_id, number, name, agent, next_kind, turns, settings, settings_version,"
        " created_at) VALUES ('conv_1', 1, 'c', 'w1', 'message', 3, '{}', 0, 0)"
    )
    for n, run_id in enumerate(["run_a", "run_b", "run_c"], start=1):
        connection.execute(
            "INSERT INTO turns (run_id, conversation_id, n, kind) VALUES (?, 'conv_1', ?, 'message')", (run_id, n)
        )
    for step in migrations()[mine.number - 1 :]:
        connection.execute(step.sql)
    found = list(connection.execute("SELECT run_id, message_key FROM turns ORDER BY n"))
    assert found == [("run_a", message_key("conv_1", "r")), ("run_b", None), ("run_c", message_key("conv_1", "s"))]
