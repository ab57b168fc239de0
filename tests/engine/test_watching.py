"""Watching a conversation: a snapshot, live entries with a position, and partial text that is never stored."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from counterfoil.engine.partials import KEPT, Partials
from counterfoil.model.errors import Refused
from tests.engine.house import House
from tests.engine.talks import go, send


class Watcher:
    """One who watches, and what was told so far."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self._told = asyncio.Event()

    def take(self, item: dict[str, Any]) -> None:
        self.items.append(item)
        self._told.set()

    async def holds(self, what: Callable[[list[dict[str, Any]]], bool]) -> None:
        async with asyncio.timeout(20):
            while not what(self.items):
                self._told.clear()
                await self._told.wait()

    async def until(self, kind: str, n: int | None = None) -> dict[str, Any]:
        """The first item of a type, or entry of a kind, of turn n."""

        def found(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [i for i in items if kind in (i["type"], i.get("kind")) and n in (None, i.get("n"))]

        await self.holds(lambda items: bool(found(items)))
        return found(self.items)[0]

    @property
    def entries(self) -> list[tuple[int, int]]:
        return [(item["n"], item["sequence"]) for item in self.items if item["type"] == "entry"]


@asynccontextmanager
async def watching(house: House, **how: Any) -> AsyncIterator[Watcher]:
    watcher = Watcher()

    async def watch() -> None:
        async with aclosing(house.app.conversations.watch("c", **how)) as items:
            async for item in items:
                watcher.take(item)

    part = asyncio.create_task(watch())
    try:
        yield watcher
    finally:
        part.cancel()
        await asyncio.gather(part, return_exceptions=True)


def all_entries(house: House, *runs: str) -> list[tuple[int, int]]:
    with house.app.open().read() as reader:
        return [(n, entry.sequence) for n, run_id in enumerate(runs, start=1) for entry in reader.entries(run_id)]


def test_first_a_snapshot_then_what_happens_turn_by_turn(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "wait")
        second = await send(talking, "2", when_busy="follow_up")
        async with talking.working(), watching(talking) as watcher:
            snapshot = await watcher.until("snapshot")
            assert [turn["text"] for turn in snapshot["turns"]] == ["wait", "2"]
            assert snapshot["conversation"]["at_work"]["run_id"] == first["run_id"]
            await watcher.until("suspended", 1)
            await go(talking, first["run_id"])
            await watcher.until("finished", 2)
        seen = int(snapshot["position"].rpartition(":")[2])
        wanted = [each for each in all_entries(talking, first["run_id"], second["run_id"]) if each > (1, seen)]
        assert watcher.entries == wanted
        said = [item["data"] for item in watcher.items if item.get("kind") == "message" and item["n"] == 2]
        assert [each["role"] for each in said] == ["user", "agent"]

    asyncio.run(story())


def test_what_is_queued_is_told_when_its_turn_has_come(talking: House) -> None:
    async def story() -> None:
        await send(talking, "wait")
        await send(talking, "2", when_busy="follow_up")
        items = [item async for item in talking.app.conversations.watch("c", position=":-1", seconds=0)]
        assert {item["n"] for item in items} == {1}

    asyncio.run(story())


def test_every_position_goes_on_without_a_gap_or_a_repeat(talking: House) -> None:
    async def story() -> None:
        runs: list[str] = []
        async with talking.working():
            for text in ("one", "two"):
                runs.append((await send(talking, text))["run_id"])
                await talking.state(runs[-1], "completed")
        whole = all_entries(talking, *runs)
        positions = [":-1", *(f"{runs[n - 1]}:{sequence}" for n, sequence in whole)]
        for count, position in enumerate(positions):
            items = [item async for item in talking.app.conversations.watch("c", position=position, idle=True)]
            assert [(item["n"], item["sequence"]) for item in items] == whole[count:], position
            assert [item["position"] for item in items] == positions[count + 1 :]

    asyncio.run(story())


def test_a_fork_is_watched_from_its_own_first_turn_on(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        async with talking.working():
            await talking.state((await send(talking, "one"))["run_id"], "completed")
            await talks.fork("c", into="d")
            snapshot = [item async for item in talks.watch("d", idle=True)]
            assert [item["type"] for item in snapshot] == ["snapshot"]
            own = await send(talking, "two", conversation="d")
            await talking.state(own["run_id"], "completed")
            for position in (snapshot[0]["position"], ":-1"):
                items = [item async for item in talks.watch("d", position=position, idle=True)]
                assert {item["run_id"] for item in items} == {own["run_id"]}

    asyncio.run(story())


@pytest.mark.parametrize("position", ["", "x", "run_x:1", "run_x:", ":x", "other:0"])
def test_what_is_no_position_is_refused(talking: House, position: str) -> None:
    async def story() -> None:
        await send(talking, "one")
        other = await send(talking, "two", conversation="e")
        given = position.replace("other", other["run_id"])
        with pytest.raises(Refused) as told:
            _ = [item async for item in talking.app.conversations.watch("c", position=given, idle=True)]
        assert told.value.code == "usage"

    asyncio.run(story())


def test_partial_text_is_passed_on_and_never_stored(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "wait")
        partials = talking.app.open().partials
        async with talking.working(), watching(talking) as watcher:
            await watcher.until("suspended", 1)
            partials.publish(first["run_id"], "3", "Your ref")
            partials.publish("run_other", "3", "nobody's")
            partials.publish(first["run_id"], "3", "und")
            await watcher.holds(lambda items: sum(item["type"] == "partial" for item in items) == 2)
            told = [item for item in watcher.items if item["type"] == "partial"]
            await go(talking, first["run_id"])
            await watcher.until("finished", 1)
        assert "".join(each["text"] for each in told) == "Your refund"
        assert all(each["provisional"] and "position" not in each and each["place"] == "3" for each in told)
        assert "Your ref" not in str(talking.entries(first["run_id"]))
        partials.publish(first["run_id"], "3", "nobody watches")
        again = [item async for item in talking.app.conversations.watch("c", position=":-1", idle=True)]
        assert all(item["type"] == "entry" for item in again)

    asyncio.run(story())


def test_a_slow_watcher_keeps_the_newest_and_holds_nobody_up() -> None:
    async def story() -> None:
        partials = Partials()
        with partials.following("run_1") as follower:
            for n in range(KEPT + 5):
                partials.publish("run_1", "0", str(n))
            await follower.arrived.wait()
            found = [partial.text for partial in follower.ready()]
        assert found == [str(n) for n in range(5, KEPT + 5)]
        assert partials._followers == {}

    asyncio.run(story())


def test_to_follow_is_to_hear_every_piece_from_now_on() -> None:
    async def story() -> None:
        partials = Partials()
        partials.publish("run_1", "0", "before")
        heard: list[str] = []
        async with aclosing(partials.follow("run_1")) as pieces:
            first = asyncio.ensure_future(anext(pieces))
            while not partials._followers:
                await asyncio.wait([first], timeout=0.001)
            await asyncio.to_thread(partials.publish, "run_1", "0", "one")  # from another thread
            heard.append((await first).text)
            partials.publish("run_1", "0", "two")
            heard.append((await anext(pieces)).text)
        assert heard == ["one", "two"]
        assert partials._followers == {}

    asyncio.run(story())
