"""An undeclared tool that is interrupted is asked itself what it did: its function's answer closes the call, and no person."""

import asyncio
from typing import Any

import pytest

from counterfoil.model.errors import Refused
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.testing.bench import SECRET
from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.rows import row
from tests.crash.tool_turns import entries, played
from tests.crash.turns import DONE, Room

WIRE = {"order": "o-1", "amount": 5}
SCRIPT: list[Any] = [[["wire", WIRE]], DONE]
AGAIN: list[Any] = [[["wire", WIRE]], [["wire", WIRE]], DONE]  # the second call is held, and not run


@row("resolve")
@pytest.mark.parametrize("dies", ["wire before", "wire after"])
def test_its_first_answer_is_the_tools_result(room: Room, forks: Children, dies: str) -> None:
    async def body() -> None:
        async with played(room, forks, tools.wirer, SCRIPT) as turn:
            await turn.dies(dies)
            assert await turn.to_the_end() == []  # nobody was asked
            turn.done()
            assert len(room.lines("wires")) == 1
            assert room.bodies("bank") == ([WIRE] if dies == "wire after" else [])
            told = f"paid {room.records('bank')[0]['id']}" if dies == "wire after" else "The bank does not have it."
            assert told in turn.heard() and "unknown" not in turn.heard()
            (resolved,) = entries(turn, "resolved")
            assert resolved["function"] == resolved["by"] == "tests.crash.tools:bank_says"
            assert resolved["single_person"] is False and resolved["evidence_digest"]

    asyncio.run(body())


@row("resolve", "held")
def test_what_it_cannot_tell_yet_is_asked_again(room: Room, forks: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model hears that the outcome is unknown, plans it again, and its call is not run: it hears what had happened."""
    monkeypatch.setenv("BANK_SILENT", "3")

    async def body() -> None:
        async with played(room, forks, tools.wirer, AGAIN) as turn:
            await turn.dies("wire after")
            assert await turn.to_the_end() == []
            turn.done()
            assert len(room.lines("wires")) == 1 and room.bodies("bank") == [WIRE]
            assert "outcome is unknown" in turn.heard(1)
            assert "planned before this was known" in turn.heard() and "has happened" in turn.heard()
            asked = [each for each in entries(turn, "looked_up") if "function" in each]
            assert [each["n"] for each in asked] == [1, 2, 3]
            assert len(room.lines("asked_itself")) == 4
            (operation,) = turn.operations()
            with turn.bench.app.open().read() as reader:
                receipt = reader.get(ReceiptRecord, operation.receipt_id or "")
            assert receipt is not None and (receipt.how, receipt.reference) == ("lookup", room.records("bank")[0]["id"])

    asyncio.run(body())


@row("resolve")
def test_what_it_raises_says_nothing_and_a_person_is_called_when_its_owners_time_is_over(
    room: Room, forks: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK_SILENT", "100000")
    monkeypatch.setenv("BANK_RAISES", "1")

    async def body() -> None:
        async with played(room, forks, tools.wirer, AGAIN) as turn:
            await turn.dies("wire after")
            stored = await turn.driven()
            assert (stored.state, stored.reason) == ("parked", "interrupted_tool")
            asked = entries(turn, "looked_up")
            assert len(asked) > 10 and "out of reach" in asked[0]["problem"]
            (operation,) = turn.waiting()
            shown = turn.bench.app.operations.show(operation.operation_id)
            assert "send-again" not in shown["next_action"]["sentence"]
            for new_key in (False, True):
                with pytest.raises(Refused) as refused:
                    await turn.bench.app.operations.resolve(
                        operation.operation_id, as_="send-again", new_key=new_key, by="oscar", secret=SECRET,
                        reason="Once more.", evidence="none", expect_version=operation.version,
                    )  # fmt: skip
                assert refused.value.code == "never_again"
            await turn.resolved("succeeded")  # a person's word is as good as ever
            assert await turn.to_the_end() == []
            turn.done()
            assert len(room.lines("wires")) == 1 and "seen-there" in turn.heard()
            (resolved,) = entries(turn, "resolved")
            assert resolved["by"] == "oscar" and "function" not in resolved

    asyncio.run(body())


@row("resolve")
def test_a_person_may_be_quicker(room: Room, forks: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the run waits to ask again, a person closes the doubt: nobody is asked any more."""
    monkeypatch.setenv("BANK_SILENT", "100000")

    async def body() -> None:
        async with played(room, forks, tools.wirer, AGAIN) as turn:
            await turn.dies("wire after")
            turn.bench.app.boundaries.observers.clear()
            child = turn.starts(work="tests.crash.tools:asked_twice")
            await asyncio.to_thread(child.wait)
            asked = len(room.lines("asked_itself"))
            assert asked >= 2 and turn.bench.stored(turn.run).state in ("running", "waiting")
            await turn.resolved("failed")
            assert await turn.to_the_end() == []
            turn.done()
            assert "did not happen" in turn.heard() and len(room.lines("wires")) == 1
            assert len(room.lines("asked_itself")) == asked

    asyncio.run(body())
