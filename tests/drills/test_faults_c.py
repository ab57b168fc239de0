"""The faults of machine, storage, clocks and deployments, played with real processes: each happened, and each ends right."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil import App
from counterfoil.drills.case import NotApplied, Planned
from counterfoil.drills.faults import FAULTS, archive, clocks, code, disk, power
from counterfoil.drills.faults.machine import MACHINE
from tests.drills.stages_b import Played, Theatre

PREPARED, IN_FLIGHT, REPLIED, CLASSIFIED = (
    f"operation.{name}#1" for name in ("prepared", "in_flight", "replied", "classified")
)


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    with Theatre.opened(tmp_path_factory.mktemp("stages")) as theatre:
        yield theatre


def passes(played: Played, outcome: str) -> dict[str, Any]:
    """What shows that it happened, of a case that passed and ended so."""
    assert played.applied.wrong == ()
    assert (played.judged.verdict, played.judged.outcome) == ("pass", outcome), played.judged
    return dict(played.applied.proof)


# ---------------------------------------------------------------------- deployments


@pytest.mark.parametrize(
    ("case", "outcome", "records"),
    [
        (f"keyed/{PREPARED}", "succeeded", 1),
        (f"keyed/{REPLIED}", "succeeded", 1),
        (f"blind/{REPLIED}", "unresolved", 1),
        (f"reviewed/{CLASSIFIED}", "succeeded", 1),
    ],
)
def test_changed_code_is_recognised_and_the_old_goes_on(
    case: str, outcome: str, records: int, theatre: Theatre
) -> None:
    played = theatre.plays(f"{case}/code-changed")
    proof = passes(played, outcome)
    assert proof["crash"]["wait_status"] == 9
    changed = proof["changed"]
    assert changed["called_at"] == changed["before"] and changed["at_rest"]["reason"] == "code_changed"
    assert (
        "added_by_a_deployment" in changed["at_rest"]["sentence"]
        and changed["recorded"] in changed["at_rest"]["sentence"]
    )
    assert proof["code_of_before"]["at_rest"]["reason"] != "code_changed"
    assert sum(len(held.records) for held in played.evidence.held.values()) == records


def test_changed_code_that_fits_the_record_goes_on_with_it(theatre: Theatre) -> None:
    played = theatre.plays("keyed/run.claimed#1/code-changed")
    proof = passes(played, "succeeded")
    assert proof["changed"]["recorded"] is None and proof["changed"]["at_rest"]["state"] == "completed"
    assert any(entry["name"] == "added_by_a_deployment" for entry in played.evidence.seen.entries)


def test_code_that_was_not_changed_is_no_fault(theatre: Theatre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "said", lambda child: {"called_at": None, "before": "7"})
    with pytest.raises(NotApplied, match="position 7"):
        theatre.plays(f"keyed/{PREPARED}/code-changed")


# ---------------------------------------------------------------------- restores and copies


@pytest.mark.parametrize(
    ("case", "outcome", "reason"),
    [
        (f"keyed/{PREPARED}/restored-file", "succeeded", "restored"),
        (f"looked_up/{IN_FLIGHT}/restored-directory", "succeeded", None),
        (f"blind/{PREPARED}/restored-directory", "unresolved", "outcome_unknown"),
        ("reviewed/run.submitted#1/restored-file", "succeeded", None),
    ],
)
def test_a_restored_database_is_recognised_and_sends_nothing_before_a_person_says_so(
    case: str, outcome: str, reason: str | None, theatre: Theatre
) -> None:
    played = theatre.plays(case)
    proof = passes(played, outcome)
    assert proof["after"]["head"]["batches"] < proof["before"]["head"]["batches"]
    assert proof["after"]["files"] != proof["before"]["files"]
    first = proof["while_suspended"]
    assert first["restore"]["recognised_by"] == "behind" and first["restore"]["suspended"]
    assert first["writes_before"] == first["writes_after"] and first["at_rest"]["reason"] == reason
    assert proof["finished"]["by"] == "ana" and not proof["finished"]["restore"]["suspended"]
    assert sum(len(held.records) for held in played.evidence.held.values()) == 1


@pytest.mark.parametrize("case", [f"looked_up/{IN_FLIGHT}", f"blind/{PREPARED}", f"keyed/{PREPARED}"])
def test_a_copy_never_sends_and_its_original_goes_on(case: str, theatre: Theatre) -> None:
    played = theatre.plays(f"{case}/cloned")
    proof = passes(played, "succeeded")
    assert proof["while_suspended"]["restore"]["recognised_by"] == "copied"
    assert proof["heads"]["original"] == proof["heads"]["copy"]
    assert proof["copy_at_rest"]["state"] == ("completed" if case.startswith("looked_up") else "parked")
    assert sum(len(held.writes) for held in played.evidence.held.values()) == 1


def test_a_restore_is_caught_without_its_stop(theatre: Theatre) -> None:
    """Nothing forbids sending while the restore is open: the fault itself sees what left."""
    played = theatre.plays(f"keyed/{PREPARED}/restored-file", without="stop-check")
    assert played.judged.verdict == "fail"
    assert played.applied.wrong == ("Something was sent before a person finished the restore.",)


# ---------------------------------------------------------------------- power and disk


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "case", [f"keyed/{IN_FLIGHT}", f"looked_up/{CLASSIFIED}", f"blind/{CLASSIFIED}", "reviewed/review.answered#1"]
)
def test_a_power_cut_loses_nothing_that_was_answered_for(case: str, seed: int, theatre: Theatre) -> None:
    played = theatre.plays(f"{case}/power-cut", seed=seed)
    kept, answered = played.applied.proof["kept"]["head"]["batches"], played.applied.proof["acknowledged_batches"]
    lost = kept == answered  # the commit at whose flush it went dark; torn, it may have come through
    proof = passes(played, "unresolved" if lost and case.startswith("blind") else "succeeded")
    assert proof["wait_status"] == 9 and proof["cut_at_flush"] > 0 and proof["survive"] in power.SURVIVE
    assert kept >= answered > 0


@pytest.mark.parametrize(
    ("case", "outcome", "writes"),
    [
        (f"keyed/{IN_FLIGHT}", "succeeded", 1),
        (f"keyed/{CLASSIFIED}", "succeeded", 2),
        (f"blind/{PREPARED}", "succeeded", 1),
    ],
)
def test_a_full_disk_is_met_and_told(case: str, outcome: str, writes: int, theatre: Theatre) -> None:
    played = theatre.plays(f"{case}/disk-full")
    proof = passes(played, outcome)
    assert proof["refused_with"] == "EFBIG" and proof["rlimit_fsize"][0] == proof["log_bytes"] + disk.ROOM_BYTES
    assert {(each["code"], each["extended"]) for each in proof["met"]} == {
        ("storage_failed", 778)
    }  # SQLITE_IOERR_WRITE
    assert proof["lifted"][0] == -1
    assert sum(len(held.writes) for held in played.evidence.held.values()) == writes
    assert sum(len(held.records) for held in played.evidence.held.values()) == 1


@pytest.mark.parametrize("fault", ["power-cut", "disk-full", "clock-back"])
def test_what_never_met_its_boundary_is_not_applied(
    fault: str, theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "library", lambda: None)
    planned = Planned(workflow="keyed", boundary="operation.in_flight#9", fault=fault)
    with pytest.raises(NotApplied):
        theatre.play(FAULTS[fault], planned)


# ---------------------------------------------------------------------- clocks


def steps(proof: dict[str, Any]) -> tuple[float, float]:
    """By how many seconds the wall and the other clock moved, as the child read them."""
    read = proof["read_by_the_child"]
    moved = [(read[f"{clock}_after_us"] - read[f"{clock}_before_us"]) / 1_000_000 for clock in ("wall", "boot")]
    return moved[0], moved[1]


@pytest.mark.parametrize(
    ("case", "seconds", "stops"),
    [
        (f"keyed/{PREPARED}/clock-back", -7200, True),
        (f"keyed/{IN_FLIGHT}/clock-forward", 7200, True),
        ("reviewed/review.opened#1/clock-forward", 7200, True),
        (f"blind/{REPLIED}/clock-back", -7200, False),
    ],
)
def test_sends_stop_while_the_clocks_disagree_and_go_on_when_they_agree(
    case: str, seconds: int, stops: bool, theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "library", lambda: None)
    proof = passes(theatre.plays(case), "succeeded")
    wall, boot = steps(proof)
    assert proof["how"].startswith("our own clock") and wall - boot == pytest.approx(seconds, abs=1)
    assert proof["begun_while_apart"] == 0
    assert proof["at_rest_while_apart"]["reason"] == ("clock_jump" if stops else None)
    assert proof["at_rest"]["state"] == "completed"


@pytest.mark.skipif(clocks.library() is None, reason="libfaketime is not installed: python3 scripts/set_up.py dev")
def test_the_clock_of_the_process_itself_is_set(theatre: Theatre) -> None:
    proof = passes(theatre.plays(f"keyed/{PREPARED}/clock-forward"), "succeeded")
    wall, boot = steps(proof)
    assert proof["how"] == f"libfaketime: {clocks.library()}" and wall - boot == pytest.approx(7200, abs=1)
    assert proof["at_rest_while_apart"]["reason"] == "clock_jump" and proof["at_rest"]["state"] == "completed"


# ---------------------------------------------------------------------- what is not built, and what is registered


def test_archiving_is_played_once_there_is_something_to_archive_with() -> None:
    """The build fails when the feature has come and its fault is still not played."""
    app = App("empty")
    nouns = [value for value in vars(app).values() if type(value).__module__.startswith("counterfoil.app")]
    built = [noun for noun in (app, *nouns) if any("archive" in name for name in dir(noun) if not name.startswith("_"))]
    assert bool(built) == (FAULTS["archived-then-again"].not_built is None), built
    assert archive.NOT_BUILT == "8"


def test_every_fault_of_the_machine_is_registered_and_applies_somewhere(theatre: Theatre) -> None:
    assert [fault.name for fault in MACHINE] == [
        "code-changed", "restored-file", "restored-directory", "cloned", "power-cut", "disk-full", "clock-back", "clock-forward",
        "archived-then-again",
    ]  # fmt: skip
    assert all(theatre.cases("keyed", fault.name) for fault in MACHINE)


def test_the_library_is_found_where_debian_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lib" / "some-machine" / "faketime"
    folder.mkdir(parents=True)
    monkeypatch.setattr(clocks, "PLACES", (f"{tmp_path}/lib/*/faketime", f"{tmp_path}/lib/faketime"))
    assert clocks.library() is None
    (folder / clocks.LIBRARY).touch()
    assert clocks.library() == folder / clocks.LIBRARY
