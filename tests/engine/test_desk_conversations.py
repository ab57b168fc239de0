"""Conversations at a desk: what is seen, what is withheld, and who may do what."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from counterfoil.app.desk import Desk
from counterfoil.model.errors import Refused
from tests.engine.house import House
from tests.engine.talks import send, talking_entries


def desk(house: House, *grants: tuple[str, str | None, str | None]) -> Desk:
    """Of ana, whose roles may do these: (verb, workflow, kind). Without any, what roles without grants may."""
    for role in ("manager", "lead", "ops") if grants else ():
        for verb, workflow, kind in grants:
            asyncio.run(house.app.access.grants.grant(role, verb, workflow=workflow, kind=kind))
    return house.app.desk(house.app.access.in_development("ana"))


def code(body: Callable[[], Any]) -> str:
    try:
        told = body()
        if isinstance(told, Coroutine):
            asyncio.run(told)
    except Refused as refused:
        return refused.code
    return "ok"


def filled(house: House) -> None:
    async def story() -> None:
        async with house.working():
            await house.state((await send(house, "one"))["run_id"], "completed")
        await send(house, "wait", conversation="theirs", agent="complaints")

    asyncio.run(story())


ACTS: dict[str, Callable[[Desk], Any]] = {
    "send": lambda d: d.conversations.send("x", conversation="c", request_id="x", when_busy="follow_up"),
    "send new": lambda d: d.conversations.send("x", conversation="n", request_id="n", agent="refunds"),
    "fork": lambda d: d.conversations.fork("c", into="d", at=1),
    "reset": lambda d: d.conversations.reset("c"),
    "handoff": lambda d: d.conversations.handoff("c", to="complaints"),
    "settings": lambda d: d.conversations.settings("c", changes={"model": "openai:x"}),
    "abort": lambda d: d.conversations.abort("c", queued=True),
    "show": lambda d: d.conversations.show("c"),
    "export": lambda d: d.conversations.export_jsonl("c"),
    "watch": lambda d: d.conversations.watch("c", idle=True),
}
READS, SUBMITS = {"show", "export", "watch"}, {"send", "send new", "fork", "reset", "settings"}


@pytest.mark.parametrize(
    ("grants", "may", "sees"),
    [
        ([], set(ACTS), True),
        ([("read", "refunds", "conversation")], {"show"}, True),
        ([("read", "refunds", None)], READS, True),
        ([("submit", "refunds", None)], SUBMITS | {"show"}, True),
        ([("submit", None, None)], SUBMITS | {"show", "handoff"}, True),
        ([("cancel", "refunds", None)], {"show", "abort"}, True),
        ([("read", "complaints", None), ("submit", "complaints", None)], set(), False),
    ],
)  # fmt: skip
def test_who_may_do_what(talking: House, grants: Any, may: set[str], sees: bool) -> None:
    filled(talking)
    asyncio.run(send(talking, "wait"))
    at = desk(talking, *grants)
    for name, act in ACTS.items():
        before = talking_entries(talking), talking.app.runs.list()["items"]
        told = code(lambda act=act: act(at))
        if name in may:
            assert told == "ok", name
        else:
            assert told in ({"not_permitted"} if sees else {"not_found", "not_permitted"}), (name, told)
            assert (talking_entries(talking), talking.app.runs.list()["items"]) == before, name


def test_what_is_not_seen_is_not_there_and_what_is_not_read_is_null(talking: House) -> None:
    filled(talking)
    at = desk(talking, ("submit", "refunds", None))
    assert [each["name"] for each in at.conversations.list()["items"]] == ["c"]
    for body in (
        lambda: at.conversations.show("theirs"), lambda: at.conversations.show("nowhere"),
        lambda: at.conversations.abort("theirs"), lambda: at.conversations.export_jsonl("theirs"),
        lambda: at.conversations.send("x", conversation="theirs", request_id="t"),
    ):  # fmt: skip
        assert code(body) == "not_found"
    assert at.conversations.agents() == ["refunds"]

    assert {hit["title"] for hit in at.find("c")["items"]} == {"c"} and at.find("theirs")["items"] == []
    (turn,) = at.conversations.show("c")["transcript"]["items"]
    assert (turn["text"], turn["messages"], turn["state"]) == (None, None, "completed")


def test_what_is_done_at_a_desk_is_done_in_the_persons_name(talking: House) -> None:
    at = desk(talking)

    async def story() -> None:
        await at.conversations.send("hello", conversation="mine", request_id="r", agent="refunds")
        await at.conversations.reset("mine", reason="again")
        content = talking.app.conversations.export_jsonl("mine")
        with pytest.raises(Refused) as told:  # no turn has ended yet
            await at.conversations.import_jsonl(content, name="copy")
        assert told.value.code == "malformed_export"

    asyncio.run(story())
    assert at.conversations.show("mine")["created_by"] == "ana"
    acts = [(act["person"], act["what"]) for act in talking.app.audit.list()["items"] if act["verb"] == "conversation"]
    assert acts == [("ana", "reset the conversation mine: again"), ("ana", "began the conversation mine")]
