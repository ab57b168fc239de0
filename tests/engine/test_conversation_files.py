"""A conversation as JSON lines: what is written, what is taken in, what is refused with its line."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterfoil.model.codec import compact, digest_of
from counterfoil.model.errors import Refused
from counterfoil.model.run import RunRecord
from counterfoil.store.journaling import ENTRY_LIMIT
from tests.engine.house import House
from tests.engine.talks import history, refused, send, turns


async def spoken(house: House) -> bytes:
    """Three turns, the second of which failed, the third begins anew; and one that has not ended."""
    talks = house.app.conversations
    async with house.working():
        await house.state((await send(house, "one"))["run_id"], "completed")
        await house.state((await send(house, "fail"))["run_id"], "failed")
        await talks.reset("c")
        await house.state((await send(house, "three"))["run_id"], "completed")
        await talks.settings("c", changes={"when_busy": "follow_up"})
    await send(house, "not ended")
    return talks.export_jsonl("c")


def sealed(lines: list[dict[str, Any]]) -> bytes:
    """A file whose end fits, whatever stands in it."""
    body = "".join(compact(line) + "\n" for line in lines).encode()
    return body + (compact({"type": "end", "lines": len(lines), "digest": digest_of(body)}) + "\n").encode()


def lines_of(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()][:-1]


def test_what_is_exported_is_imported_as_history(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        content = await spoken(talking)
        taken = await talks.import_jsonl(content, name="d", by="ana")
        assert (taken["admitted"], taken["turns"], taken["settings"]) == ("new", 3, {"when_busy": "follow_up"})
        before, after = talks.show("c")["transcript"]["items"][:3], talks.show("d")["transcript"]["items"]
        assert [turn["messages"] for turn in after] == [turn["messages"] for turn in before]
        assert [(turn["state"], turn["kind"]) for turn in after] == [
            ("completed", "imported"), ("cancelled", "imported"), ("completed", "reset"),
        ]  # fmt: skip
        for turn in after:
            await refused("not_resumable", talking.app.runs.retry(turn["run_id"]))
            await refused("run_ended", talking.app.runs.cancel(turn["run_id"]))
            assert talking.run(turn["run_id"]).due_at is None
        async with talking.working():
            new = await send(talking, "four", conversation="d")
            await talking.state(new["run_id"], "completed")
        assert (new["turn"], history(talking.app, new["run_id"])) == (4, ["three"])
        assert all(talking.count(turn["run_id"], "started") == 0 for turn in after)
        forked = await talks.fork("d", into="e", at=1)
        assert forked["forked_from"]["turn"] == 1
        talking.clean()

    asyncio.run(story())


def test_importing_twice_changes_nothing(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        content = await spoken(talking)
        await refused("conversation_exists", talks.import_jsonl(content))
        await talks.import_jsonl(content, name="d")
        opened = talking.app.open()
        with opened.read() as reader:
            newest = reader.upkeep.newest_ordinal()
        assert (await talks.import_jsonl(content, name="d"))["admitted"] == "existing"
        lines = lines_of(content)
        await refused("conversation_exists", talks.import_jsonl(sealed(lines[:-1]), name="d"))
        with opened.read() as reader:
            assert reader.upkeep.newest_ordinal() == newest
        assert (await talks.import_jsonl(content, name="e"))["admitted"] == "new"
        again = talks.export_jsonl("d")
        assert [line["data"] for line in lines_of(again) if line["type"] == "entry"] != []
        assert (await talks.import_jsonl(again, name="f"))["turns"] == 3
        talking.clean()

    asyncio.run(story())


def test_a_fork_is_exported_with_its_past(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        await spoken(talking)
        await talks.fork("c", into="d", at=1)
        async with talking.working():
            await talking.state((await send(talking, "own", conversation="d"))["run_id"], "completed")
        content = talks.export_jsonl("d")
        told = [(line["n"], line["text"]) for line in lines_of(content) if line["type"] == "turn"]
        assert told == [(1, "one"), (2, "own")]
        await talks.import_jsonl(content, name="copy")
        assert turns(talking, "copy") == [(1, "imported", "one"), (2, "imported", "own")]

    asyncio.run(story())


def test_what_an_entry_keeps_beside_the_journal_goes_along(talking: House, tmp_path: Path) -> None:
    """A large model input is an artifact: the file holds it once, before the entry that names it."""
    talks = talking.app.conversations
    kept = talking.app.open().artifacts.save(PROMPT.encode(), name="model messages")

    async def story() -> None:
        content = await spoken(talking)
        lines = lines_of(content)
        asked = {
            "type": "entry", "n": 1, "kind": "asked", "place": "1", "name": "ask refunds", "at": 5, "text": None,
            "data": {"keep": 0, "add": {"artifact": kept.digest}, "head": "0", "params": {}, "other": "sha256:0"},
        }  # fmt: skip
        data = {"output": [kept.digest], "usage": {}, "cost_micros": 700}
        decided = asked | {"kind": "decision", "name": "decide refunds", "data": data}
        held = ARTIFACT | {"digest": kept.digest, "content": PROMPT}
        await talks.import_jsonl(sealed([*lines[:2], held, asked, decided, *lines[2:]]), name="d")
        file = lines_of(talks.export_jsonl("d"))
        (artifact,) = [line for line in file if line["type"] == "artifact"]
        assert (artifact["digest"], artifact["content"]) == (kept.digest, PROMPT)
        assert file.index(artifact) < next(n for n, line in enumerate(file) if line.get("kind") == "asked")
        place = talking.app.open().location
        (place.with_name(place.name + ".artifacts") / kept.digest[7:9] / kept.digest[9:]).unlink()
        await talks.import_jsonl(sealed(file), name="e")
        assert talking.app.open().artifacts.read(kept.digest) == PROMPT.encode()
        data = next(line["data"] for line in file if line.get("kind") == "decision")
        assert (data["cost_micros"], data["spent_elsewhere_micros"]) == (0, 700)
        talking.clean()

    asyncio.run(story())


DAMAGE: list[tuple[str, Callable[[list[dict[str, Any]]], Any], int]] = [
    ("no first line", lambda lines: lines.pop(0), 1),
    ("another format", lambda lines: lines[0].update(format=2), 1),
    ("a field too many", lambda lines: lines[0].update(more=1), 1),
    ("a number as text", lambda lines: lines[1].update(n="1"), 2),
    ("a turn that is missing", lambda lines: lines[1].update(n=2), 2),
    ("a turn that has not ended", lambda lines: lines[1].update(state="running"), 2),
    ("a state that is none", lambda lines: lines[1].update(state="done"), 2),
    ("a kind that is none", lambda lines: lines[1].update(kind="chat"), 2),
    ("an entry of another turn", lambda lines: lines[2].update(n=3), 3),
    ("an entry that is nothing said", lambda lines: lines[2].update(kind="closed"), 3),
    ("an entry that is none", lambda lines: lines[2].update(kind="event"), 3),
    ("an artifact that was changed", lambda lines: lines.insert(2, ARTIFACT | {"content": "other"}), 3),
    ("a line of no type", lambda lines: lines[2].update(type="line"), 3),
]
PROMPT = compact([{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a long prompt"}]}])
ARTIFACT = {"type": "artifact", "digest": digest_of(b"text"), "name": "x", "content": "text"}


@pytest.mark.parametrize(("what", "damage", "line"), DAMAGE, ids=[each[0] for each in DAMAGE])
def test_a_line_that_cannot_be_read_is_named(talking: House, what: str, damage: Any, line: int) -> None:
    async def story() -> None:
        content = await spoken(talking)
        lines = lines_of(content)
        damage(lines)
        told = await refused("malformed_export", talking.app.conversations.import_jsonl(sealed(lines), name="d"))
        assert told.details["line"] == line, told
        assert nothing(talking)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("cut", "problem"),
    [
        (lambda c: c[:-1], "breaks off"), (lambda c: c[: c.rindex(b'{"')], "missing"), (lambda c: c[: len(c) // 2], None),
        (lambda c: b"", "breaks off"), (lambda c: c.replace(b"heard one", b"heard two"), "digest"),
        (lambda c: c.replace(b"\n", b"\n\xff", 1), "utf-8"), (lambda c: b"[" * 100_000 + b"\n" + c, None),
        (lambda c: b"null\n" + c, "valid"), (lambda c: c + c, None),
    ],
)  # fmt: skip
def test_a_file_that_is_cut_or_changed_is_refused_whole(talking: House, cut: Any, problem: str | None) -> None:
    async def story() -> None:
        content = cut(await spoken(talking))
        told = await refused("malformed_export", talking.app.conversations.import_jsonl(content, name="d"))
        assert problem is None or problem in told.message.lower()
        assert nothing(talking)

    asyncio.run(story())


def nothing(house: House) -> bool:
    """Nothing was imported: neither the conversation nor a run of it."""
    with house.app.open().read() as reader:
        imported = [run for run in reader.rows(RunRecord) if run.request_id.startswith("imported")]
    return not imported and [each["name"] for each in house.app.conversations.list()["items"]] == ["c"]


def test_an_import_needs_the_agents_code_and_the_right_to_speak_with_it(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        lines = lines_of(await spoken(talking))
        foreign = sealed([lines[0] | {"agent": "nobody"}, *lines[1:]])
        await refused("unknown_workflow", talks.import_jsonl(foreign, name="d"))
        for role in ("manager", "lead", "ops"):
            await talking.app.access.grants.grant(role, "submit", workflow="complaints")
        await refused("not_permitted", talks.import_jsonl(sealed(lines), name="d", by="ana"))
        with pytest.raises(Refused):
            talks.show("d")

    asyncio.run(story())


def test_a_long_conversation_is_imported_in_one_commit(talking: House) -> None:
    """Its rows are more than one entry may hold: the entries of its turns carry them, each its own."""

    async def story() -> None:
        lines = lines_of(await spoken(talking))
        turn = lines[1]
        long = [lines[0], *(turn | {"n": n, "text": "x" * 2000} for n in range(1, 601))]
        opened = talking.app.open()
        before = opened.installation().batches
        await talking.app.conversations.import_jsonl(sealed(long), name="d")
        assert opened.installation().batches == before + 1
        assert talking.app.conversations.show("d")["turns"] == 600
        with opened.read() as reader:
            sizes = [len(entry.body) for _, entry in reader.journal()]
        assert sum(sizes) > ENTRY_LIMIT > 10 * max(sizes)
        talking.clean()

    asyncio.run(story())
