"""Faults: a backup of the database from before the send is put back, or a copy of the installation is opened elsewhere."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from counterfoil.app.application import App
from counterfoil.app.located import located
from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned, Passed
from counterfoil.drills.life import REVIEWERS, SECRET, Say, placed
from counterfoil.drills.stage import Stage
from counterfoil.model.errors import Refused
from counterfoil.testing.case_ledger import CaseLedger

# How far the run had come when the backup was made.
AT = (
    "run.submitted", "step.ended", "decision.accepted", "proposal.made", "operation.prepared", "review.opened", "review.answered",
    "operation.in_flight",
)  # fmt: skip
SUSPENDED = frozenset({"behind", "missing", "copied", "moved", "rolled", "promoted", "forgotten"})


def cases(fault: str) -> Callable[[Learned], Iterator[Planned]]:
    """At each of these boundaries after which something is still sent; everywhere in a run that has no operation."""

    def found(learned: Learned) -> Iterator[Planned]:
        return (learned.planned(passed, fault) for passed in _before_a_send(learned))

    return found


def file_restored(stage: Stage, planned: Planned) -> Applied:
    """The content of the database from the backup over what is there."""
    return _restored(stage, planned, whole=False)


def directory_restored(stage: Stage, planned: Planned) -> Applied:
    """All of the database from the backup, locks and artifacts too."""
    return _restored(stage, planned, whole=True)


def cloned(stage: Stage, planned: Planned) -> Applied:
    """A copy of the ledger is opened elsewhere; the original goes on beside it; then a person finishes the copy as a clone."""
    killed = stage.dies(planned.boundary)
    original, copy = stage.ledger, stage.ledger.copied()
    at, heads = stage.now(), {"original": original.head(), "copy": copy.head()}
    first = _suspended(stage, copy)
    stage.lives()  # the original, undisturbed
    finished = _finished(stage, "clone", copy)
    ours = _count(stage)
    last = said(stage.lives(db=copy.db, environ=copy.environ))
    wrong = [*first.pop("wrong"), *finished.pop("wrong")]
    if _count(stage) != ours:
        wrong.append("The copy sent what its original had prepared.")
    proof = {
        "crash": killed, "heads": heads, "while_suspended": first, "finished": finished, "copy_at_rest": last["at_rest"],
        "original": located(original.db).shown, "elsewhere": located(copy.db).shown,
    }  # fmt: skip
    return Applied(at=at, proof=proof, wrong=tuple(wrong))


# ---------------------------------------------------------------------- what is done


def _restored(stage: Stage, planned: Planned, *, whole: bool) -> Applied:
    killed, ledger = stage.dies(planned.boundary), stage.ledger
    backup = ledger.back_up()
    stage.lives()  # what the backup does not know
    before = {**ledger.content(), "head": ledger.head()}
    ledger.put_back(backup, whole=whole)
    at, after = stage.now(), {**ledger.content(), "head": ledger.head()}
    if before["head"] == after["head"]:
        raise NotApplied(
            f"The backup and the database that it was put over have the same newest commit: {after['head']}."
        )
    first = _suspended(stage, ledger)
    wrong = first.pop("wrong")
    proof: dict[str, Any] = {"crash": killed, "before": before, "after": after, "while_suspended": first}
    if first["restore"]["suspended"]:
        finished = _finished(stage, "restored", ledger)
        wrong += finished.pop("wrong")
        proof["finished"] = finished
        proof["at_rest"] = said(stage.lives())["at_rest"]
    return Applied(at=at, proof=proof, wrong=tuple(wrong))


def _suspended(stage: Stage, ledger: CaseLedger) -> dict[str, Any]:
    """A worker and reviewers come as far as they can; nothing may be sent. What the opening recognised, and what is wrong."""
    sent = _count(stage)
    told = said(stage.lives(db=ledger.db, environ=ledger.environ))
    restore = said(stage.lives(f"{__name__}:looks", db=ledger.db, environ=ledger.environ))["restore"]
    wrong: list[str] = []
    if not restore["suspended"] and _sends(stage):
        wrong.append("The restore was not recognised.")
    if restore["suspended"] and restore["recognised_by"] not in SUSPENDED:
        wrong.append(f"Recognised by {restore['recognised_by']}, which is none of the reasons.")
    if _count(stage) != sent:
        wrong.append("Something was sent before a person finished the restore.")
    return {
        "restore": restore,
        "at_rest": told["at_rest"],
        "writes_before": sent,
        "writes_after": _count(stage),
        "wrong": wrong,
    }


def _finished(stage: Stage, as_: str, ledger: CaseLedger) -> dict[str, Any]:
    told = said(stage.lives(f"{__name__}:finishes", db=ledger.db, environ=ledger.environ, finish_as=as_))
    wrong = [] if "restore" in told else [f"No person could finish the restore: {told.get('refused')}."]
    return {**told, "as": as_, "wrong": wrong}


def _count(stage: Stage) -> int:
    """The write requests that have reached any receiver."""
    return sum(len(receiver.writes()) for receiver in stage.receivers.values())


def _sends(stage: Stage) -> bool:
    """Whether the ledger sent anything before: only then can it know that the database is older than that."""
    return any(name == "operation.first_byte" for names in stage.passed() for name in names)


def _before_a_send(learned: Learned) -> Iterator[Passed]:
    sends = [n for n, passed in enumerate(learned.passed) if passed.name == "operation.first_byte"]
    last = sends[-1] if sends else len(learned.passed)
    return (passed for passed in learned.passed[:last] if passed.name in AT)


# ---------------------------------------------------------------------- children


def looks(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Say what is known of a restore: {restore: as `restore status`}."""
    placed(app, arguments, say)
    say({"restore": app.restore.status()})
    app.close()


def finishes(app: App, arguments: dict[str, Any], say: Say) -> None:
    """The first reviewer who may says what became of the database. {restore, by} or {refused}."""
    placed(app, arguments, say)
    for person in REVIEWERS:
        finish = app.restore.finish(
            as_=arguments["finish_as"], by=person, secret=SECRET, reason="A drill put it there."
        )
        try:
            say({"restore": asyncio.run(finish), "by": person})
            break
        except Refused as refused:
            say({"refused": refused.code})
    app.close()
