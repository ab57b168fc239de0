"""The support desk under the drill: an agent's turn, a receiver that speaks no HTTP, and a tool that nobody declared."""

from typing import Any

import pytest

pytest.importorskip("aiosmtpd")
pytest.importorskip("mcp")

from counterfoil.drills.told import Telling

TARGET = "counterfoil.examples.support_desk.app:support"


def drilled(only: str) -> list[dict[str, Any]]:
    """The cases that fit."""
    telling = Telling.of(TARGET, only=only)
    list(telling.cases())
    found: list[dict[str, Any]] = telling.report["cases"]
    return found


def test_the_named_drills() -> None:
    cases = drilled("named")
    assert [(case["name"], case["reasons"]) for case in cases if case["verdict"] != "pass"] == []
    assert {case["name"] for case in cases} >= {"accepted-no-receipt", "refund-reply-lost", "code-deployed"}
    assert {(case["outcome"], case["receiver"]["records"]) for case in cases} == {("succeeded", 2)}, "refund and e-mail"


def test_the_e_mail_is_counted_in_its_mailbox() -> None:
    cases = {case["fault"]: case for case in drilled("support/writes/operation.first_byte#2/*")}
    assert {"kill-before", "kill-after", "drop-reply", "error-after-accept", "refuse"} <= cases.keys()
    assert [(fault, case["reasons"]) for fault, case in cases.items() if case["verdict"] != "pass"] == []
    assert cases["drop-reply"]["receiver"]["records"] == 2 and cases["refuse"]["receiver"]["records"] == 1


def test_a_note_that_was_interrupted_is_a_persons() -> None:
    cases = {case["fault"]: case for case in drilled("support/notes/operation.replied#3/*")}
    killed = cases["kill-after"]
    assert (killed["verdict"], killed["outcome"], killed["receiver"]["records"]) == ("pass", "unresolved", 3), killed
    assert killed["owner"] and killed["next_action"]["command"].startswith("counterfoil operations resolve")
