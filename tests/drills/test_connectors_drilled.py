"""Every connector at its receiver: what that holds after lost replies and killed workers decides."""

from pathlib import Path

import pytest

from counterfoil.connectors.drilled import drills, modules
from counterfoil.connectors.drilling import Case, Drill, Seen, Served, as_usual, play_all, wrong
from counterfoil.connectors.serving import PLANTED
from counterfoil.model.errors import Refused

FINE = Seen(records=1, outcome="succeeded", visible=True, attempts=1, how=("reply",))
DOUBT = Seen(records=1, outcome="unresolved", visible=True, attempts=1, how=())


@pytest.mark.parametrize("drill", drills(), ids=lambda drill: f"{drill.connector}-{drill.server.partition(' ')[0]}")
def test_one_record_or_a_visible_doubt(drill: Drill, tmp_path: Path) -> None:
    """A server that is not installed is no pass: the reason names it."""
    said = play_all(drill, tmp_path)
    assert said["verdict"] == "pass", said["reasons"]
    assert said["records"] == 1 and len(said["cases"]) == len(drill.cases)
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {".db", ".log"} <= {file.suffix for file in written}
    assert [file for file in written if PLANTED.encode() in file.read_bytes()] == [], "a credential was written down"


def test_what_is_wrong_is_said() -> None:
    case = Case("as-usual", "succeeded", as_usual, attempts=1)
    assert list(wrong(case, FINE)) == []
    assert list(wrong(Case("late", "unresolved", as_usual), DOUBT)) == []
    told = {
        "2 records": Seen(2, "succeeded", True, 1, ("reply",)),
        "holds nothing": Seen(0, "succeeded", True, 1, ("reply",)),
        "ended unresolved": DOUBT,
        "nobody is shown": Seen(1, "succeeded", False, 1, ("reply",)),
        "sent 2 times": Seen(1, "succeeded", True, 2, ("reply",)),
    }
    for words, seen in told.items():
        (said,) = wrong(case, seen)
        assert words in said


def test_a_server_that_is_not_installed_is_not_run_by_name(tmp_path: Path) -> None:
    def start(folder: Path) -> Served:
        raise Refused("tool_missing", tool=f"A server for {folder.name}", install="Install it.")

    known = drills("stripe.refund")[0]
    absent = Drill(
        connector="stripe.refund", entries=known.entries, app=known.app, workflow=known.workflow, server="absent",
        server_kind="real", start=start, cases=known.cases,
    )  # fmt: skip
    said = play_all(absent, tmp_path)
    assert said["verdict"] == "not_run" and said["records"] is None and "is not here" in said["reasons"][0]


def test_drills_are_found_by_file_and_by_operation() -> None:
    assert "stripe" in modules()
    assert {each.connector.partition(".")[0] for each in drills("stripe")} == {"stripe"}
    assert {each.connector for each in drills("stripe.refund")} == {"stripe.refund"}
    for unknown in ("nobody", "stripe.nothing"):
        with pytest.raises(Refused) as refused:
            drills(unknown)
        assert refused.value.code == "not_found"
