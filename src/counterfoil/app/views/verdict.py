"""What became of a decision: which operations rest on it, and what people said of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.app.views.decision import Around, Decided, decision_id
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.revising import revisions_behind
from counterfoil.model.codec import parsed
from counterfoil.model.journal import EntryKind
from counterfoil.model.review import ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader

VERDICTS = ("corrected", "rejected", "expired", "open", "approved", "none")
"""The first of them that holds for anything that rests on a decision is its verdict."""

_NONE: Mapping[int, dict[str, Any]] = {}
_SAID = {
    ReviewState.APPROVED: "approved",
    ReviewState.REJECTED: "rejected",
    ReviewState.EXPIRED: "expired",
    ReviewState.OPEN: "open",
}


@dataclass(frozen=True, slots=True)
class Made:
    """A version of an operation's payload, and the decisions (by sequence) that it rests on."""

    sequence: int
    prefix: str
    operation_id: str
    version: int
    at: int
    rests_on: frozenset[int]


def made_in(around: Around, decisions: Sequence[Decided]) -> list[Made]:
    """Every version that was proposed or prepared in a run, in order.

    The call of an agent's tool rests on the answer that called it. Any other version rests on the decisions in its branch, or
    around it, that were made since the version before; where there is none, on the same as that one.
    """
    found: list[Made] = []
    known: set[tuple[str, int]] = set()
    for entry in around.entries:
        if entry.kind not in (EntryKind.PROPOSAL, EntryKind.PREPARED):
            continue
        data, position = parsed(entry.body)["data"], entry.position or ""
        version = (data["operation_id"], data["version"])
        if version not in known:
            known.add(version)
            rests_on = _behind(position, entry.sequence, decisions, found)
            found.append(Made(entry.sequence, _prefix(position), *version, entry.at, rests_on))
    return found


def _behind(position: str, sequence: int, decisions: Sequence[Decided], made: Sequence[Made]) -> frozenset[int]:
    earlier = [decided for decided in decisions if decided.sequence < sequence]
    around = set(_prefixes(position))
    callers = {each.position: each.sequence for each in earlier if each.turn}
    for prefix in _prefixes(position):
        caller = prefix.rstrip(".").rpartition(".")[0]
        if caller in callers:
            return frozenset({callers[caller]})
    before = next((each for each in reversed(made) if each.prefix in around), None)
    since = -1 if before is None else before.sequence
    fresh = [each for each in earlier if each.sequence > since and _prefix(each.position) in around]
    if not fresh:
        return frozenset() if before is None else before.rests_on
    revised = {each.data.get("revises") for each in fresh}
    return frozenset(each.sequence for each in fresh if each.position not in revised)


def _prefix(position: str) -> str:
    """The branch that a position is in: everything up to its last dot."""
    return position[: position.rfind(".") + 1]


def _prefixes(position: str) -> Iterator[str]:
    """Its branch, then the branches around that: `5.0.1` is in `5.0.`, which was opened at 5, in the root."""
    prefix = _prefix(position)
    while prefix:
        yield prefix
        prefix = _prefix(prefix.rstrip(".").rpartition(".")[0])
    yield ""


def verdicts_of(
    run: RunRecord,
    decided: Decided,
    around: Around,
    decisions: Sequence[Decided],
    made: Sequence[Made],
    revised: Mapping[int, dict[str, Any]] = _NONE,
) -> dict[str, Any]:
    """`{verdict, verdicts: [VERDICT], operations}` of one decision. `revised`: see `revised_by`."""
    mine = [each for each in made if decided.sequence in each.rests_on]
    said = [*_answers(mine, around), *_newer_versions(run, mine, made), *_revisions(run, decided, decisions)]
    said += [revised[decided.sequence]] if decided.sequence in revised else []
    kinds = {each["verdict"] for each in said} or {"none"}
    return {
        "verdict": next(verdict for verdict in VERDICTS if verdict in kinds),
        "verdicts": said,
        "operations": _outcomes(mine, around),
    }


def _said(verdict: str, **facts: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("by", "comment", "at", "review_id", "operation_id", "proposal_version", "how", "decision_id", "void")
    )
    return {"verdict": verdict} | nothing | facts


def _answers(mine: Sequence[Made], around: Around) -> Iterator[dict[str, Any]]:
    versions = {(each.operation_id, each.version) for each in mine}
    for review in around.reviews:
        if (review.operation_id, review.proposal_version) in versions and review.state in _SAID:
            yield _said(
                _SAID[review.state], by=review.reviewer, comment=review.comment, at=rfc3339(review.decided_at),
                review_id=review.review_id, operation_id=review.operation_id,
                proposal_version=review.proposal_version, void=review.void,
            )  # fmt: skip


def _newer_versions(run: RunRecord, mine: Sequence[Made], made: Sequence[Made]) -> Iterator[dict[str, Any]]:
    """The version after the one that this decision led to, and the decision behind it."""
    first: dict[str, int] = {}
    for each in mine:
        first.setdefault(each.operation_id, each.version)
    for each in made:
        if each.operation_id in first and each.version == first[each.operation_id] + 1:
            by = max(each.rests_on, default=None)
            yield _said(
                "corrected", how="proposal", at=rfc3339(each.at), operation_id=each.operation_id,
                proposal_version=each.version, decision_id=None if by is None else decision_id(run, by),
            )  # fmt: skip


def _revisions(run: RunRecord, decided: Decided, decisions: Sequence[Decided]) -> Iterator[dict[str, Any]]:
    """`run.revise`: the next version of this decision, by the same agent."""
    for later in decisions:
        if later.data.get("revises") == decided.position and later.agent == decided.agent:
            yield _said(
                "corrected",
                how="revise",
                comment=later.data.get("reason"),
                at=rfc3339(later.at),
                decision_id=decision_id(run, later.sequence),
            )


def revised_by(reader: Reader, decided: Sequence[Decided], run: RunRecord) -> dict[int, dict[str, Any]]:
    """`app.conversations.revise`: by entry, the answers of this turn that a later turn revised, as verdicts."""
    found: dict[int, dict[str, Any]] = {}
    for later, revision in revisions_behind(reader, run.run_id):
        newest = reader.get(RunRecord, later)
        answers = [entry for entry in reader.entries(later) if entry.kind is EntryKind.DECISION]
        if newest is not None and answers:
            found[int(revision.revises.rpartition("/")[2])] = _said(
                "corrected", how="revise", comment=revision.reason, at=rfc3339(answers[-1].at),
                decision_id=decision_id(newest, answers[-1].sequence),
            )  # fmt: skip
    return {each.sequence: found[each.sequence] for each in decided if each.sequence in found}


def _outcomes(mine: Sequence[Made], around: Around) -> list[dict[str, Any]]:
    versions = {each.operation_id: each.version for each in mine}
    return [
        {
            "operation_id": operation.operation_id, "number": operation.number, "operation": operation.name,
            "proposal_version": versions[operation.operation_id], "bound": operation.proposal_version,
            "status": operation.status.value, "reason": operation.reason, "reused": operation.reused_from is not None,
            "closed_at": rfc3339(operation.closed_at),
        }
        for operation in around.operations
        if operation.operation_id in versions
    ]  # fmt: skip
