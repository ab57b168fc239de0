"""Exploration: the default search finds nothing, is the same twice, and covers the sources that it says."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import counterfoil
from counterfoil.testing.explore import KINDS, Bounds, explore, explored_modules, source_digest
from counterfoil.testing.explore.report import told
from counterfoil.testing.explore.search import Search

PACKAGE = Path(counterfoil.__file__).parent
NEVER_EXCUSED = "wrong_word", "frozen_at_the_wire", "unrecognised_restore", "contract_broken"
SMALL = Bounds(depth=4)


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """The command's default, all kinds."""
    return explore()


def test_every_kind_is_explored_without_a_violation(whole: dict[str, Any]) -> None:
    assert [kind["kind"] for kind in whole["kinds"]] == list(KINDS)
    for kind in whole["kinds"]:
        assert kind["violations"] == []
        assert kind["states"] > 2000 and kind["depth"] == whole["bounds"]["depth"]


def test_each_kind_is_crashed_at_the_boundaries_of_a_send(whole: dict[str, Any]) -> None:
    send = {"run.claimed", "operation.prepared", "review.opened", "operation.in_flight", "operation.first_byte"}
    for kind in whole["kinds"]:
        assert send | {"operation.replied", "operation.classified"} <= set(kind["boundaries_crashed"]), kind["kind"]


def test_the_cases_that_decide_a_doubt_are_hit(whole: dict[str, Any]) -> None:
    hit = {kind["kind"]: set(kind["cases_hit"]) for kind in whole["kinds"]}
    assert {"R", "E"} <= hit["key"] and {"U", "E"} <= hit["lookup"] and {"Z", "J"} <= hit["none"]


def test_residue_is_only_what_the_design_names(whole: dict[str, Any]) -> None:
    found = [entry for kind in whole["kinds"] for entry in kind["residue"]]
    assert found, "a person's wrong word is within the default depth"
    for entry in found:
        assert entry["residue"] and set(entry["residue"]) <= set(NEVER_EXCUSED)
        assert entry["story"][-1]["text"]


@pytest.mark.parametrize("kind", ["none", "key", "J"])
def test_the_same_search_twice_is_the_same(kind: str) -> None:
    assert told(Search(kind, SMALL).run()) == told(Search(kind, SMALL).run())


def test_without_a_person_nothing_is_said_but_the_search_goes_on() -> None:
    found = told(Search("none", Bounds(depth=4, people=0, workers=1)).run())
    assert found["states"] > 0
    assert not found["violations"]


def test_a_quiet_search_closes() -> None:
    """Without anything rare, and with one instant, every interleaving is met: the search ends before its depth does."""
    found = told(Search("none", Bounds(depth=60, crashes=0, freezes=0, instants=1, words=0, mishaps=0, rare=0)).run())
    assert found["complete"] and found["depth"] < 60
    assert not found["violations"]


def test_the_digest_covers_rules_and_verbs() -> None:
    names = set(explored_modules())
    assert {"counterfoil.rules.recovery_cases", "counterfoil.engine.attempts", "counterfoil.engine.resolve"} <= names
    assert {"counterfoil.rules.key_window", "counterfoil.store.transaction", "counterfoil.model.contract"} <= names


def copied(folder: Path) -> Path:
    """The package without its caches."""
    target = folder / "counterfoil"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def explored_in(folder: Path, kind: str, depth: int) -> tuple[int, dict[str, Any]]:
    """`counterfoil explore` of a copy, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "counterfoil",
        "explore",
        "--kind",
        kind,
        "--depth",
        str(depth),
        "--crashes",
        "0",
        "--json",
    ]
    environ = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, timeout=110, check=False)
    return done.returncode, json.loads(done.stdout)["data"]


def test_one_edited_recovery_case_is_found(tmp_path: Path) -> None:
    cases = copied(tmp_path) / "rules" / "recovery_cases.py"
    text = cases.read_text()
    start = text.index('letter="Z"')
    edited = text[start:].replace("kind=Kind.ASK_PERSON", "kind=Kind.SEND", 1)
    edited = edited.replace("reason=_because(Ask.OUTCOME_UNKNOWN)", "reason=_no_reason", 1)
    cases.write_text(text[:start] + edited)
    status, data = explored_in(tmp_path, "none", 10)
    assert status == 1
    assert data["source_digest"] != source_digest()
    (kind,) = data["kinds"]
    broken = {violation["invariant"]: violation for violation in kind["violations"]}
    records = broken["one_effect"]["receiver_records"]
    assert len(records) == 2 and records[0]["identity"] == records[1]["identity"]
    story = broken["one_effect"]["story"]
    assert "Z" in [step["case"] for step in story]
    assert all(set(step) == {"actor", "boundary", "case", "text"} for step in story)


def test_stories_name_two_workers_and_no_machine(whole: dict[str, Any]) -> None:
    stories = [entry["story"] for kind in whole["kinds"] for entry in kind["residue"]]
    actors = {step["actor"] for story in stories for step in story}
    assert actors <= {"worker 1", "worker 2", "person", "network", "receiver", "time", "operator"}
    assert not any(re.search(r"op_[0-9a-v]{23}", step["text"]) for story in stories for step in story)
