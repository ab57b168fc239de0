"""Watching a conversation: a snapshot, live entries with a position, and partial text that is never stored."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from counterfoil.app.watch_place import WatchPlace
from counterfoil.engine.partials import LONGEST, Partial, Partials
from counterfoil.engine.verb import RunVerb
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.store.transaction import Transaction
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


def newest(house: House) -> int:
    with house.app.open().read() as reader:
        return reader.upkeep.newest_ordinal()


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
        seen = int(snapshot["position"].split(":")[1])
        wanted = [each for each in all_entries(talking, first["run_id"], second["run_id"]) if each > (1, seen)]
        assert watcher.entries == wanted
        said = [item["data"] for item in watcher.items if item.get("kind") == "message" and item["n"] == 2]
        assert [each["role"] for each in said] == ["user", "agent"]

    asyncio.run(story())


def test_what_is_queued_is_told_when_its_turn_has_come(talking: House) -> None:
    async def story() -> None:
        await send(talking, "wait")
        await send(talking, "2", when_busy="follow_up")
        items = [item async for item in talking.app.conversations.watch("c", position=":-1:0", seconds=0)]
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
        positions = [":-1:0", *(f"{runs[n - 1]}:{sequence}:{newest(talking)}" for n, sequence in whole)]
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
            for position in (snapshot[0]["position"], ":-1:0"):
                items = [item async for item in talks.watch("d", position=position, idle=True)]
                assert {item["run_id"] for item in items} == {own["run_id"]}

    asyncio.run(story())


@pytest.mark.parametrize("position", ["", "x", "run_x:1:0", "run_x:", ":x", ":-1", "other:0:0"])
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
            partials.publish(first["run_id"], "9", "Your ref")
            partials.publish("run_other", "9", "nobody's")
            await watcher.holds(lambda items: said_so_far(items) == "Your ref")
            partials.publish(first["run_id"], "9", "und")
            await watcher.holds(lambda items: said_so_far(items) == "Your refund")
            told = [item for item in watcher.items if item["type"] == "partial"]
            await go(talking, first["run_id"])
            await watcher.until("finished", 1)
        assert [(each["offset"], each["text"]) for each in told] == [(0, "Your ref"), (8, "und")]
        assert all(each["provisional"] and (each["place"], each["ask"]) == ("9", 0) for each in told)
        assert "Your ref" not in str(talking.entries(first["run_id"]))
        again = [item async for item in talking.app.conversations.watch("c", position=":-1:0", idle=True)]
        assert all(item["type"] == "entry" for item in again)

    asyncio.run(story())


def said_so_far(items: list[dict[str, Any]]) -> str:
    return "".join(item["text"] for item in items if item["type"] == "partial")


def test_who_comes_late_is_given_what_was_answered_before_and_who_comes_again_nothing_twice(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "wait")
        partials = talking.app.open().partials
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            partials.publish(first["run_id"], "9", "Your ref", 1)
            partials.publish(first["run_id"], "9", "und ", 1)
            async with watching(talking) as late:
                await late.holds(lambda items: said_so_far(items) == "Your refund ")
                assert [item["type"] for item in late.items] == ["snapshot", "partial"]
                position = late.items[-1]["position"]
            partials.publish(first["run_id"], "9", "is on its way", 1)
            async with watching(talking, position=position) as again:
                await again.holds(lambda items: said_so_far(items) == "is on its way")
                assert again.items[0]["offset"] == len("Your refund ")
                partials.publish(first["run_id"], "9", "Anew", 2)  # that call was lost: asked again
                await again.holds(lambda items: said_so_far(items) == "is on its wayAnew")
                assert [(each["ask"], each["offset"]) for each in again.items] == [(1, 12), (2, 0)]
            partials.end(first["run_id"])
            async with watching(talking, position=position) as last:
                await go(talking, first["run_id"])
                await last.until("finished", 1)
            assert said_so_far(last.items) == ""

    asyncio.run(story())


def test_no_piece_is_told_after_its_decision() -> None:
    place = WatchPlace.of(f"run_{'0' * 23}:4:9")
    place._over = {}
    piece = Partial(f"run_{'0' * 23}", "9", "Your", 1)
    assert place.is_open(piece)
    place._note(entry_of(EntryKind.TRY_FAILED, "9", {"n": 1}))
    assert not place.is_open(piece) and place.is_open(replace(piece, ask=2))
    place._note(entry_of(EntryKind.DECISION, "9", {}))
    assert not place.is_open(replace(piece, ask=7)) and place.is_open(replace(piece, position="10"))
    assert not place.is_open(replace(piece, run_id="another", position="10"))


def entry_of(kind: EntryKind, position: str, data: dict[str, Any]) -> Entry:
    return Entry("run", 5, kind, position, "ask desk", compact({"data": data}), 0, b"")


@dataclass(frozen=True, slots=True)
class Late(RunVerb):
    """Something is recorded of a run that has ended."""

    name: str
    boundary: ClassVar[str] = "record.appended"

    def decide(self, tx: Transaction) -> Any:
        return tx.append(self.run_id, EntryKind.LATE, name=self.name, data={})


def test_what_comes_late_in_an_earlier_turn_is_told_once_wherever_one_goes_on(talking: House) -> None:
    """Evidence in the first turn while the second is at work, and another after it; also to a fork that shares the first."""

    async def story() -> None:
        async with talking.working():
            first = await send(talking, "one")
            await talking.state(first["run_id"], "completed")
            await talking.app.conversations.fork("c", into="d")
            own = await send(talking, "three", conversation="d")
            await talking.state(own["run_id"], "completed")
            second = await send(talking, "wait")
            await talking.state(second["run_id"], "waiting")
            async with watching(talking) as watcher:
                await watcher.until("snapshot")
                await talking.app.open().write(Late(first["run_id"], "first"))
                await watcher.until("late", 1)
                await go(talking, second["run_id"])
                await watcher.until("finished", 2)
                await talking.app.open().write(Late(first["run_id"], "second"))
                await watcher.holds(lambda items: sum(item.get("kind") == "late" for item in items) == 2)
                whole = [item for item in watcher.items if item["type"] == "entry"]
            for count, item in enumerate(whole):
                again = talking.app.conversations.watch("c", position=item["position"], idle=True)
                assert [each["sequence"] async for each in again] == [each["sequence"] for each in whole[count + 1 :]]
            begun = [item async for item in talking.app.conversations.watch("c", position=":-1:0", idle=True)]
            told = [(item["n"], item["sequence"]) for item in begun]
            assert len(set(told)) == len(told) and set(told) == set(
                all_entries(talking, first["run_id"], second["run_id"])
            )
            (snapshot,) = [item async for item in talking.app.conversations.watch("d", idle=True)]
            await talking.app.open().write(Late(first["run_id"], "third"))
            fork = talking.app.conversations.watch("d", position=snapshot["position"], idle=True)
            assert [(item["kind"], item["run_id"]) async for item in fork] == [("late", first["run_id"])]

    asyncio.run(story())


def test_a_long_answer_is_kept_up_to_a_limit() -> None:
    async def story() -> None:
        partials = Partials()
        for n in range(LONGEST // 1000 + 5):
            partials.publish("run_1", "0", f"{n:1000}")
        with partials.following("run_1") as follower:
            (piece,) = follower.ready()
            assert piece.offset > 0 and piece.end == (LONGEST // 1000 + 5) * 1000 and len(piece.text) <= LONGEST
            assert piece.text.endswith(f"{LONGEST // 1000 + 4:1000}") and follower.ready() == []
        partials.end("run_1")
        assert partials._drafts == {} and partials._followers == {}

    asyncio.run(story())


def test_to_follow_is_to_hear_what_was_said_before_and_what_comes() -> None:
    async def story() -> None:
        partials = Partials()
        partials.publish("run_1", "0", "before")
        async with aclosing(partials.follow("run_1")) as pieces:
            assert (await anext(pieces)).text == "before"
            coming = asyncio.ensure_future(anext(pieces))
            await asyncio.to_thread(partials.publish, "run_1", "0", "one")  # from another thread
            assert (await coming).text == "one"
            partials.publish("run_1", "0", "two")
            assert (await anext(pieces)).text == "two"
        assert partials._followers == {}

    asyncio.run(story())
