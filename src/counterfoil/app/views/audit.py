"""ACT: what one person did, as the journal holds it, with its digest and its place in the chain."""

from collections.abc import Callable, Mapping
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.store.acts import ActRow

Data = Mapping[str, Any]

VERBS: tuple[EntryKind, ...] = (
    EntryKind.SUBMITTED, EntryKind.ANSWER, EntryKind.WITHDRAWN, EntryKind.RESOLVED, EntryKind.INCIDENT_CLOSED, EntryKind.RESUMED,
    EntryKind.CANCEL_ASKED, EntryKind.TENDED, EntryKind.PERSON, EntryKind.WRITES, EntryKind.RESTORE, EntryKind.GRANT,
    EntryKind.TOKEN, EntryKind.IDENTITY, EntryKind.APPROVAL_KEY, EntryKind.SIGNED_IN, EntryKind.IMPORTED, EntryKind.WORKER,
    EntryKind.LOOKED_UP, EntryKind.SIGNAL, EntryKind.DRILL, EntryKind.WAIVER, EntryKind.BUDGET, EntryKind.CONVERSATION,
)  # fmt: skip
"""The entries that people cause. `store/sql/acts.sql` and its indexes name the same."""

COLUMNS = ("at", "person", "verb", "what", "subject", "run_id", "sequence", "ordinal", "digest")

_SUBJECTS = (
    "review_id",
    "incident_id",
    "subject",
    "operation_id",
    "grant_id",
    "token_id",
    "key_id",
    "import_id",
    "conversation_id",
)


def act_view(row: ActRow) -> dict[str, Any]:
    """`{at, person, verb, what, subject, run_id, sequence, ordinal, digest, details}`.

    `run_id` names the chain: the installation's own for what belongs to no run. `person` is None for what was done at the
    machine itself under no name. `details` is the entry's data.
    """
    entry = row.entry
    data: dict[str, Any] = parsed(entry.body)["data"]
    return {
        "at": rfc3339(entry.at),
        "person": row.person,
        "verb": entry.kind.value,
        "what": what_of(entry, data),
        "subject": next((data[name] for name in _SUBJECTS if data.get(name)), entry.name or entry.run_id),
        "run_id": entry.run_id,
        "sequence": entry.sequence,
        "ordinal": row.ordinal,
        "digest": f"sha256:{entry.digest.hex()}",
        "details": data,
    }


def what_of(entry: Entry, data: Data) -> str:
    """One sentence without its subject: approved draft 3; suspended sending to receiver:crm: they asked."""
    said = _SAID.get(entry.kind)
    what = said(entry, data) if said is not None else f"{entry.kind.value.replace('_', ' ')} {entry.name or ''}".strip()
    why = data.get("reason") or data.get("comment")
    return f"{what}: {why}" if why else what


def _answer(entry: Entry, data: Data) -> str:
    del entry
    kept = "" if data.get("matched") == "now" else f" (kept, and decides nothing: {data.get('matched')})"
    return f"{_past(data['decision'])} draft {data['version']}{kept}"


def _resumed(entry: Entry, data: Data) -> str:
    del entry
    raises: dict[str, Any] = data.get("raises") or {}
    raised = ", ".join(f"{kind} to {limit}" for kind, limit in raises.items())
    return f"{'retried' if data.get('retry') else 'resumed'} from {data.get('from')}" + (
        f", {raised}" if raised else ""
    )


def _tended(entry: Entry, data: Data) -> str:
    match entry.name:
        case "handed_over":
            return f"handed over to {data['to']}"
        case "snoozed":
            return f"put off until {rfc3339(data['until'])}"
        case "commented":
            return f"said: {data['text']}"
        case "let_go":
            return (
                "took back from being put off"
                if data["what"] == "snooze"
                else f"let go of what {data['from']} had taken"
            )
        case _:
            return entry.name or "tended"


def _waiver(entry: Entry, data: Data) -> str:
    if not data.get("waived"):
        return f"took back the waiver of {entry.name}"
    return f"let {entry.name} be sent without a drill until {rfc3339(data['until'])}"


def _writes(entry: Entry, data: Data) -> str:
    if "paused" not in data:
        return f"{'suspended' if data.get('suspended') else 'resumed'} sending ({entry.name})"
    who = "its breaker: " if data.get("breaker") else ""
    return f"{who}{'paused' if data['paused'] else 'resumed'} {(entry.name or '').replace(':', ' ')}"


def _past(decision: str) -> str:
    return {"approve": "approved", "reject": "rejected"}.get(decision, decision)


_SAID: dict[EntryKind, Callable[[Entry, Data], str]] = {
    EntryKind.SUBMITTED: lambda e, d: f"submitted {e.name} {d.get('request_id')}",
    EntryKind.ANSWER: _answer,
    EntryKind.WITHDRAWN: lambda _, d: f"took back the approval of draft {d.get('version')}",
    EntryKind.RESOLVED: lambda e, d: f"resolved {e.name} as {d.get('as')}",
    EntryKind.INCIDENT_CLOSED: lambda _, d: "closed the incident",
    EntryKind.RESUMED: _resumed,
    EntryKind.CANCEL_ASKED: lambda _, d: "asked to cancel",
    EntryKind.LOOKED_UP: lambda e, d: f"looked up {e.name}: {d.get('result')}",
    EntryKind.SIGNAL: lambda e, d: f"sent the signal {e.name} {d.get('signal_id')}",
    EntryKind.TENDED: _tended,
    EntryKind.PERSON: lambda e, d: f"{'revoked' if d.get('revoked') else 'added'} {e.name}",
    EntryKind.WRITES: _writes,
    EntryKind.RESTORE: lambda e, d: f"restore {e.name}" + (f" as {d['as']}" if d.get("as") else ""),
    EntryKind.GRANT: lambda e, d: f"{'granted' if d.get('granted') else 'took back'} {d.get('verb')} for {e.name}",
    EntryKind.TOKEN: lambda e, d: f"{'made' if d.get('created') else 'revoked'} a token of {e.name}",
    EntryKind.IDENTITY: lambda e, d: f"is {d.get('subject')} at {d.get('issuer')}",
    EntryKind.APPROVAL_KEY: lambda e, d: f"{'added' if d.get('added') else 'revoked'} the approval key {e.name}",
    EntryKind.SIGNED_IN: lambda _, d: f"signed in by {d.get('how')}",
    EntryKind.IMPORTED: lambda e, d: (
        f"closed the orphan {e.name}" if "delivery_id" in d else f"imported the statement {e.name}"
    ),
    EntryKind.DRILL: lambda e, d: f"registered the drill of {e.name} for {', '.join(d.get('registered') or ())}",
    EntryKind.WAIVER: _waiver,
    EntryKind.BUDGET: lambda e, d: (
        f"raised {', '.join(f'{k} to {v}' for k, v in d['raises'].items())} of {e.name} {d['key']}"
    ),
    EntryKind.CONVERSATION: lambda e, d: f"{str(d.get('did')).replace('_', ' ')} the conversation {e.name}",
    EntryKind.WORKER: lambda e, d: f"{'quieted' if d.get('quiet') else 'woke'} the worker {e.name}",
}
