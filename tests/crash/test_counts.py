"""Nothing is committed and nothing leaves beside the boundaries: counted by SQLite, by the interpreter and by the receivers."""

from collections import Counter
from typing import Any

from counterfoil.engine.boundaries import BOUNDARIES
from tests.crash.stage import Stage

KINDS = {boundary.name: boundary.kind for boundary in BOUNDARIES}


def said(stage: Stage, child: Any, what: str) -> dict[str, int]:
    return next(message[what] for message in child.said if what in message)


def test_every_commit_and_every_first_byte_is_a_boundary(stage: Stage) -> None:
    stage.lives("found")  # making the tables is a commit of its own kind
    before = {name: int(str(process.get("")["lookups"])) for name, process in stage.receivers.items()}
    child = stage.lives("counted")
    stage.check_whole_story()
    hits, seen = said(stage, child, "hits"), said(stage, child, "seen")
    asked = sum(int(str(process.get("")["lookups"])) - before[name] for name, process in stage.receivers.items())
    written = [write for name in stage.receivers for write in stage.writes(name)]

    assert hits["commit"] == seen["commit"] > 30
    assert hits["flush"] == seen["marker"] > 3
    assert hits["send"] == len(written) == 3, "one write for each kind of receiver"
    assert seen["connect"] == len(written) + asked, "nothing else leaves this process"
    assert hits["reply"] == sum(write["fault"] is None for write in written) == 1, "two replies were lost"
    assert hits == Counter(KINDS[names[0]] for names in stage.passed(pid=child.pid)), (
        "the log of these tests says the same"
    )
