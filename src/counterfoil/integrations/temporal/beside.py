"""What the other branches of a run wait for, by the ledger: the workflow's own picture may be old when a call comes late."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from counterfoil.integrations.temporal.messages import Call, Wait
from counterfoil.model.codec import parsed
from counterfoil.model.journal import EntryKind
from counterfoil.rules.replay import Journal
from counterfoil.store.port import Reader

# What people and receivers write from outside: a branch that waits meanwhile looks again.
_OUTSIDE = frozenset(
    {EntryKind.ANSWER, EntryKind.WITHDRAWN, EntryKind.SIGNAL, EntryKind.RESOLVED, EntryKind.RESUMED, EntryKind.LATE}
)


@dataclass(frozen=True, slots=True)
class Beside:
    """`waits` of the other branches. `look`: something is there that one of them has not looked at."""

    waits: list[Wait]
    look: bool


def beside(reader: Reader, journal: Journal, call: Call) -> Beside:
    """The workflow's picture, brought up to date by what sessions have said since: who waits, and who was answered."""
    own = f"{call.prefix}{call.number}"
    known = {wait.position or f"? {n}": wait for n, wait in enumerate(call.others)}
    for entry in reader.entries(call.run_id, after=call.heard):
        if entry.kind is EntryKind.SUSPENDED:
            said = parsed(entry.body)["data"]
            known.pop(said.get("answered", ""), None)
            if "standing" in said:
                wait = Wait(**said["standing"])
                known[wait.position] = wait
    others = [wait for position, wait in known.items() if position != own and position not in journal.ended]
    seen = [-1 if wait.seen is None else wait.seen for wait in others]
    if -1 in seen:
        return Beside([wait for wait in others if wait.seen is not None], True)
    news = bool(others) and any(e.kind in _OUTSIDE for e in reader.entries(call.run_id, after=min(seen)))
    return Beside(others, news)


def standing_facts(wait: Wait) -> dict[str, Any]:
    """What the journal is told of a call that waits."""
    return {"standing": asdict(wait)}


def listed(waits: Sequence[Wait]) -> list[dict[str, Any]]:
    """As a suspension shows what is waited for."""
    return [
        {"kind": each.kind, "id": each.id, "since_at": each.since_at, "deadline_at": each.deadline_at} for each in waits
    ]
