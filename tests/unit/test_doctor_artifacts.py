"""What the record names and only a folder holds: `verify` looks at the database, so `doctor` looks here."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.doctor import doctor
from counterfoil.app.doctor_artifacts import named_artifacts
from counterfoil.app.located import InFile
from counterfoil.app.operations import Operations
from counterfoil.engine.decisions import AcceptDecision, AskModel
from counterfoil.engine.opened import Opened
from counterfoil.engine.reviews import Answer
from counterfoil.model.codec import digest_of
from counterfoil.store.artifacts import ArtifactStore
from counterfoil.store.port import StorageError
from tests.unit.opened_ledger import HOUR, SECRETS, Filled, SetClock, opened

SOURCE = "sha256:" + "1" * 64  # what every proposal of these tests rests on: nobody ever kept it
EVIDENCE, QUESTION = b"line 7: R-7 120", b"a long question"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Filled]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Filled(here, clock)


def check(here: Opened, tmp_path: Path) -> dict[str, Any]:
    report = doctor(lambda: here, where=InFile(tmp_path / "data" / "ledger.db"), state=tmp_path / "state")
    (found,) = [check for check in report["checks"] if check["code"] == "artifacts"]
    return found


def asked(filled: Filled, given: Any) -> None:
    facts = {"in": "x", "n": 1, "lost": False, "input": given}
    filled.ask(AskModel(filled.run_id, filled.fence, "9", "decide clerk", facts, 0, filled.opened.deadlines))


def resolved(filled: Filled) -> None:
    """A doubt that a person closed with evidence."""
    review = filled.asked()
    filled.ask(Answer(filled.run_id, review.review_id, filled.operation_id, "ana", True, review.digest, "", False))
    filled.answered(filled.in_flight(), status=None)
    filled.clock.now += 30 * HOUR
    version = filled.advanced().version
    operations = Operations(lambda: filled.opened)
    asyncio.run(
        operations.resolve(
            filled.operation_id,
            as_="succeeded",
            by="oscar",
            secret=SECRETS["oscar"],
            reason="It is on the statement.",
            evidence=EVIDENCE,
            reference="bank-7",
            expect_version=version,
        )
    )


def file_of(tmp_path: Path, content: bytes) -> Path:
    letters = digest_of(content).removeprefix("sha256:")
    return tmp_path / "data" / "ledger.db.artifacts" / letters[:2] / letters[2:]


def test_a_record_that_names_none_is_well(ledger: Filled, tmp_path: Path) -> None:
    ledger.submitted().claimed()
    asked(ledger, {"artifact": "a word of the question", "of": "somebody else's"})
    found = check(ledger.opened, tmp_path)
    assert (found["status"], found["message"].split()[0]) == ("ok", "0")


def test_sources_evidence_and_large_questions_are_named(ledger: Filled, tmp_path: Path) -> None:
    ledger.submitted().claimed().prepared()
    asked(ledger, {"artifact": ledger.opened.artifacts.save(QUESTION, name="model input").digest})
    resolved(ledger)
    with ledger.opened.read() as reader:
        assert named_artifacts(reader) == sorted([SOURCE, digest_of(EVIDENCE), digest_of(QUESTION)])
    found = check(ledger.opened, tmp_path)
    assert found["status"] == "warn"
    assert "3 artifacts are named in the record, 1 are missing or damaged" in found["message"]
    assert SOURCE in found["message"]


def test_what_a_turn_was_asked_and_answered_is_named(ledger: Filled) -> None:
    ledger.submitted().claimed()
    kept = [ledger.opened.artifacts.save(text, name="model").digest for text in (b"[]", b"{}", b'"long"')]
    added, params, output = ({"artifact": digest} for digest in kept)
    run_id, fence, deadlines = ledger.run_id, ledger.fence, ledger.opened.deadlines
    question = {"in": "x", "n": 1, "lost": False, "keep": 0, "add": added, "params": params}
    ledger.ask(AskModel(run_id, fence, "2", "ask desk", question, 0, deadlines))
    answer = {"in": "x", "output": output, "usage": {}, "cost_micros": None}
    ledger.ask(AcceptDecision(run_id, fence, "2", "ask desk", answer, 0, deadlines))
    with ledger.opened.read() as reader:
        assert named_artifacts(reader) == sorted(kept)


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_file_that_is_gone_or_changed_is_found(ledger: Filled, tmp_path: Path, how: str) -> None:
    ledger.submitted().claimed()
    asked(ledger, {"artifact": ledger.opened.artifacts.save(QUESTION, name="model input").digest})
    assert check(ledger.opened, tmp_path)["status"] == "ok"
    if how == "missing":
        file_of(tmp_path, QUESTION).unlink()
    else:
        file_of(tmp_path, QUESTION).write_bytes(b"another question")
    found = check(ledger.opened, tmp_path)
    assert (found["status"], digest_of(QUESTION) in found["message"]) == ("warn", True)
    assert found["fix"]


def test_a_folder_that_cannot_be_read_is_no_missing_file(
    ledger: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.submitted().claimed()
    asked(ledger, {"artifact": digest_of(QUESTION)})

    def refuse(store: ArtifactStore, digest: str) -> bytes:
        raise StorageError("storage_failed", problem="the disk")

    monkeypatch.setattr(ArtifactStore, "read", refuse)
    report = doctor(lambda: ledger.opened, where=InFile(tmp_path / "data" / "ledger.db"), state=tmp_path / "state")
    assert [(check["code"], check["status"]) for check in report["checks"]] == [("storage_failed", "refuse")]
