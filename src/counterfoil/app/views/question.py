"""What a reviewer reads before answering: the payload as fields, its versions and differences, and the decision behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from counterfoil.app.views.difference import payload_difference
from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.model.run import RunRecord


@dataclass(frozen=True, slots=True)
class Asked:
    """One review with the rows around it: the operation's proposals and reviews by version and number, the run's entries."""

    review: ReviewRecord
    operation: OperationRecord
    run: RunRecord
    proposals: Sequence[ProposalRecord]
    reviews: Sequence[ReviewRecord]
    answers: Sequence[AnswerRecord]
    entries: Sequence[Entry]


def question_view(asked: Asked) -> dict[str, Any]:
    """`{versions, since_previous, since_first, decision, proposed, spent_usd, target, amount, answers, needed, approvals, newer}`.

    `versions`: `[{version, digest, made_at, reviews, current}]`. `since_*`: `{version, rows}` as `payload_difference`, None
    where there is no other version. `newer`: the newest version where the review asks about an older one.
    """
    review = asked.review
    shown = _version(asked, review.proposal_version)
    earlier = [p for p in asked.proposals if p.version < review.proposal_version]
    newest = asked.proposals[-1].version if asked.proposals else review.proposal_version
    proposed = _proposed(asked)
    return {
        "versions": [_version_line(asked, proposal) for proposal in asked.proposals],
        "since_previous": _since(earlier[-1], shown) if earlier else None,
        "since_first": _since(earlier[0], shown) if len(earlier) > 1 else None,
        "proposed": None if proposed is None else _entry(proposed),
        "decision": _decision(asked, shown, proposed),
        "spent_usd": _usd(asked.run.spent_micros),
        "reserved_usd": _usd(asked.run.reserved_micros),
        "target": asked.operation.target,
        "amount": None
        if asked.operation.amount_minor is None
        else {"minor": asked.operation.amount_minor, "currency": asked.operation.currency},
        "answers": [_answer(answer) for answer in asked.answers],
        "needed": review.needed,
        "approvals": sorted({a.person for a in asked.answers if a.decision == "approve" and a.digest == review.digest}),
        "newer": newest if newest > review.proposal_version else None,
    }


def _version(asked: Asked, version: int) -> ProposalRecord | None:
    return next((proposal for proposal in asked.proposals if proposal.version == version), None)


def _version_line(asked: Asked, proposal: ProposalRecord) -> dict[str, Any]:
    reviews = [review for review in asked.reviews if review.proposal_version == proposal.version]
    return {
        "version": proposal.version, "digest": proposal.payload_digest, "made_at": rfc3339(proposal.made_at),
        "current": proposal.version == asked.review.proposal_version, "payload": parsed(proposal.payload),
        "reviews": [
            {
                "number": review.number, "state": review.state.value, "reviewer": review.reviewer,
                "comment": review.comment, "decided_at": rfc3339(review.decided_at),
            }
            for review in reviews
        ],
    }  # fmt: skip


def _since(before: ProposalRecord, shown: ProposalRecord | None) -> dict[str, Any] | None:
    if shown is None:
        return None
    rows = payload_difference(parsed(before.payload), parsed(shown.payload))
    return {"version": before.version, "digest": before.payload_digest, "rows": rows}


def _proposed(asked: Asked) -> Entry | None:
    """The entry that made this version."""
    for entry in asked.entries:
        if entry.kind is EntryKind.PROPOSAL:
            data = parsed(entry.body)["data"]
            made = data["operation_id"] == asked.operation.operation_id
            if made and data["version"] == asked.review.proposal_version:
                return entry
    return None


def _decision(asked: Asked, shown: ProposalRecord | None, proposed: Entry | None) -> dict[str, Any] | None:
    """The newest decision before the proposal: what it answered is compared with what is proposed."""
    before = proposed.sequence if proposed is not None else asked.run.sequence + 1
    entry = next((e for e in reversed(asked.entries) if e.kind is EntryKind.DECISION and e.sequence < before), None)
    if entry is None:
        return None
    data: dict[str, Any] = parsed(entry.body)["data"]
    output = data.get("output")
    rows = [] if shown is None else payload_difference(output, parsed(shown.payload))
    cost = data.get("cost_micros")
    return _entry(entry) | {
        "model": data.get("model"), "prompt_version": data.get("prompt_version"), "usage": data.get("usage") or {},
        "cost_usd": None if cost is None else _usd(cost), "input_digest": data.get("in"),
        "revises": data.get("revises"), "reason": data.get("reason"), "output": output,
        "differs": [row for row in rows if row["what"] != "same"],
    }  # fmt: skip


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "sequence": entry.sequence, "name": entry.name, "at": rfc3339(entry.at), "digest": f"sha256:{entry.digest.hex()}",
    }  # fmt: skip


def _answer(answer: AnswerRecord) -> dict[str, Any]:
    return {
        "person": answer.person, "decision": answer.decision, "digest": answer.digest, "comment": answer.comment,
        "ask_revision": bool(answer.ask_revision), "at": rfc3339(answer.at), "matched": answer.matched,
        "key_id": answer.key_id,
    }  # fmt: skip


def _usd(micros: int) -> str:
    return f"{Decimal(micros) / 1_000_000:f}"
