"""What must hold after every case: each check is a pure function of the evidence, and gives what is wrong.

None of them looks at what the workflow answered, or at what a model said.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from counterfoil.drills.evidence import Evidence, Row, is_named
from counterfoil.rules.absence import absence_authorises

Wrong = tuple[str, str]  # (code, sentence)
Check = Callable[[Evidence], Iterator[Wrong]]
DUPLICATES = "duplicate_records"
ENDED = frozenset({"completed", "failed", "cancelled"})


# ---------------------------------------------------------------------- at the receiver


def once(evidence: Evidence) -> Iterator[Wrong]:
    """At most one record for each business identity. That an incident asks somebody about two makes them no less two."""
    found: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
    asked: set[tuple[str, ...]] = set()
    for receiver, record, operation in evidence.records():
        identity = (receiver, *_identity(record, operation))
        found[identity].append(record)
        if operation is not None and evidence.open_incident(operation):
            asked.add(identity)
    for identity, records in found.items():
        if len(records) > 1:
            ids = ", ".join(str(record["id"]) for record in records)
            known = "An open incident asks about it." if identity in asked else "No incident asks about it."
            said = f"{identity[0]} holds {len(records)} records of one intention ({identity[-1]}): {ids}. {known}"
            yield DUPLICATES, said
    yield from _more_than_may_be(evidence)


def _more_than_may_be(evidence: Evidence) -> Iterator[Wrong]:
    """Where operations leave no name at the receiver, a receipt tells one record of theirs; each other one must be of another."""
    for receiver, held in evidence.held.items():
        mine, nameless = evidence.unnamed(receiver, held.records), evidence.nameless(receiver)
        lacking = [operation for operation in mine if not evidence.records_of(operation)]
        if mine and len(nameless) > len(lacking):
            names = ", ".join(f"op-{operation['number']}" for operation in mine)
            ids = ", ".join(str(record["id"]) for record in nameless)
            yield (
                DUPLICATES,
                f"{receiver} holds more records than {names} may have made once; without a name are {ids}.",
            )


def _identity(record: Row, operation: Row | None) -> tuple[str, str]:
    if operation is None:
        return "payload", str(record["payload_digest"])
    if operation["business_key"] is not None:
        return str(operation["operation"]), str(operation["business_key"])
    return str(operation["operation"]), str(operation["operation_id"])


def as_approved(evidence: Evidence) -> Iterator[Wrong]:
    """The receiver holds what was approved: the same digest, or the same value in every field that it also has.

    What a restore took back may have been decided otherwise since. That is no lie while nobody calls it done.
    """
    for receiver, record, operation in evidence.records():
        if operation is None or record["payload_digest"] == operation["payload_digest"]:
            continue
        if evidence.restored and operation["status"] != "succeeded":
            continue
        ours, theirs = _fields(operation.get("payload")), _fields(record.get("payload"))
        other = sorted(name for name in ours.keys() & theirs.keys() if _text(ours[name]) != _text(theirs[name]))
        if other:
            said = f"{receiver} holds {record['id']} with other content than was approved for it"
            yield "other_payload", f"{said}: {', '.join(other)}."


def _fields(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    """A form sends a number as its digits."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def inside_operations(evidence: Evidence) -> Iterator[Wrong]:
    """No write reached a receiver outside an operation, and no more than its attempts account for."""
    count = unledgered(evidence)
    if count:
        yield (
            "unledgered_writes",
            f"{count} {'write' if count == 1 else 'writes'} reached a receiver outside any operation's attempts.",
        )


def unledgered(evidence: Evidence) -> int:
    """How many writes no attempt of the ledger explains. A restored database is asked only whose they are."""
    return sum(_unexplained(evidence, receiver) for receiver in evidence.held)


def _unexplained(evidence: Evidence, receiver: str) -> int:
    tries: Counter[str] = Counter(attempt["operation_id"] for attempt in evidence.seen.attempts)
    mine = {o["operation_id"]: tries[o["operation_id"]] for o in evidence.seen.operations if o["receiver"] == receiver}
    left, over, nameless = dict(mine), 0, 0
    for write in evidence.held[receiver].writes:
        operation = evidence.owner_of(write)
        named = is_named(write)
        if operation is not None:
            left[operation["operation_id"]] = left.get(operation["operation_id"], 0) - 1
        elif named and not evidence.restored:
            over += 1
        elif not named:
            nameless += 1
    if evidence.restored:
        return 0 if mine else nameless
    more = sum(-count for count in left.values() if count < 0)
    # An attempt that sent nothing explains a write without a name only where its operation gives its writes none.
    unnamed = evidence.unnamed(receiver, evidence.held[receiver].writes)
    spare = sum(max(0, left[operation["operation_id"]]) for operation in unnamed)
    return over + more + max(0, nameless - spare)


# ---------------------------------------------------------------------- approvals


def approvals_bound(evidence: Evidence) -> Iterator[Wrong]:
    """Every attempt drew on an approval of this very operation and digest, answered before it began."""
    for operation in evidence.seen.operations:
        if _reviewed(evidence, operation):
            for entry in evidence.entries("in_flight", operation):
                yield from _unbound(evidence, operation, entry)


def bound(evidence: Evidence) -> bool | None:
    """Whether approvals stayed with what they were given for; None where nobody was asked."""
    asked = [operation for operation in evidence.seen.operations if _reviewed(evidence, operation)]
    return None if not asked else not list(approvals_bound(evidence))


def _reviewed(evidence: Evidence, operation: Row) -> bool:
    learned = evidence.operations.get(operation["operation"])
    asked = any(review["operation_id"] == operation["operation_id"] for review in evidence.seen.reviews)
    return not operation["reused"] and (asked if learned is None else learned.reviewed)


def _unbound(evidence: Evidence, operation: Row, entry: Row) -> Iterator[Wrong]:
    name, n = f"op-{operation['number']}", entry["data"]["n"]
    attempt = next((a for a in evidence.seen.attempts if a["attempt_id"] == entry["data"]["attempt_id"]), None)
    by_id = {review["review_id"]: review for review in evidence.seen.reviews}
    review = None if attempt is None else by_id.get(attempt["review_id"])
    if review is None:
        yield "approval_missing", f"Attempt {n} of {name} began without an approval."
        return
    if review["operation_id"] != operation["operation_id"] or review["digest"] != operation["payload_digest"]:
        yield "approval_elsewhere", f"Attempt {n} of {name} drew on an approval that was given for something else."
    given = {
        answer["data"]["person"]
        for answer in evidence.entries("answer", operation)
        if answer["sequence"] < entry["sequence"]
        and answer["data"]["review_id"] == review["review_id"]
        and (answer["data"]["decision"], answer["data"]["digest"]) == ("approve", operation["payload_digest"])
    }
    if len(given) < review.get("needed", 1):
        yield "approval_not_given", f"Attempt {n} of {name} began before {review['role']} had approved its digest."


# ---------------------------------------------------------------------- what is called done


def receipts(evidence: Evidence) -> Iterator[Wrong]:
    """Nothing is called done without a receipt, and nothing without its record at the receiver."""
    for operation in evidence.seen.operations:
        name, status = f"op-{operation['number']}", operation["status"]
        there = evidence.records_of(operation)
        if status == "succeeded" and not operation["receipts"]:
            yield "done_without_receipt", f"{name} is called succeeded, and has no receipt."
        if status == "succeeded" and not operation["reused"] and not there and _nowhere(evidence, operation):
            yield "done_without_record", f"{name} is called succeeded, and {operation['receiver']} does not have it."
        if status == "failed" and there and not evidence.open_incident(operation):
            yield "failed_but_there", f"{name} is called failed, and {operation['receiver']} has {there[0]['id']}."


def _nowhere(evidence: Evidence, operation: Row) -> bool:
    """Whether no record may be its: of what carries no name, the receiver cannot say whose it is."""
    receiver = operation["receiver"]
    unnamed = evidence.unnamed(receiver, evidence.held[receiver].records)
    lacking = [each for each in unnamed if not evidence.records_of(each)]
    named = all(each["operation_id"] != operation["operation_id"] for each in lacking)
    return named or len(evidence.nameless(receiver)) < len(lacking)


def ends_closed(evidence: Evidence) -> Iterator[Wrong]:
    """A run ends only when none of its operations is open."""
    for run in evidence.seen.runs:
        operations = [o for o in evidence.seen.operations if o["run_id"] == run["run_id"]]
        open_ = [f"op-{o['number']}" for o in operations if o["status"] not in ("succeeded", "failed")]
        if run["state"] in ENDED and open_:
            yield "ended_while_open", f"run-{run['number']} is {run['state']}, and {', '.join(open_)} is not closed."


# ---------------------------------------------------------------------- what is not done


def invisible(evidence: Evidence) -> Iterator[Wrong]:
    """Everything unresolved has an owner, a deadline, a next allowed action, and a place in the inbox."""
    listed = {item["run_id"] for item in evidence.seen.inbox}
    listed |= _waiting_for(evidence, listed)
    for run in evidence.seen.runs:
        if run["state"] in ENDED:
            continue
        lacks = [what for what, there in _visible(run, listed) if not there]
        if lacks:
            yield "not_visible", f"run-{run['number']} is {run['state']} and has no {', no '.join(lacks)}."
    for operation in evidence.seen.operations:
        if operation["status"] == "unknown" and not (operation["owner"] and operation["next_action"]["command"]):
            yield "not_visible", f"op-{operation['number']} is unknown, and nobody is told what to do about it."


def _waiting_for(evidence: Evidence, listed: set[str]) -> set[str]:
    """The runs that wait for a child which is listed, or which waits for one: whoever ends that ends them."""
    children = {
        run["run_id"]: {each["id"] for each in run.get("pending", ()) if each["kind"] == "child"}
        for run in evidence.seen.runs
        if (run["state"], run["reason"]) == ("waiting", "child")
    }
    found: set[str] = set()
    while more := {run for run, of in children.items() if of & (listed | found)} - found:
        found |= more
    return found


def _visible(run: Row, listed: set[str]) -> Iterator[tuple[str, bool]]:
    following = run["next_action"]
    yield "owner", bool(run["owner"] or following["who"]["name"])
    yield "deadline", bool(run["deadline_at"] or following["deadline_at"])
    yield "next allowed action", bool(following["command"]) and following["who"]["kind"] in ("operator", "reviewer")
    yield "place in the inbox", run["run_id"] in listed


def came_to_rest(evidence: Evidence) -> Iterator[Wrong]:
    """The run has ended, or stands with a person; there is one run for the request."""
    run = evidence.run
    if run is None:
        yield "no_run", "The request left no run."
    elif run["state"] in ("pending", "running") or (
        run["state"] == "waiting" and run["reason"] not in ("review", "child")
    ):
        yield "not_at_rest", f"run-{run['number']} is still {run['state']}: nobody ended it, and nobody is asked."
    if len(evidence.runs) > 1:
        yield "several_runs", f"One request id made {len(evidence.runs)} runs."


def needlessly_open(evidence: Evidence) -> Iterator[Wrong]:
    """Where something can still be known, or nothing was in doubt, an unresolved run is a failure of recovery."""
    run, allowed = evidence.run, evidence.applied.ends
    if run is None or allowed is None or run["state"] == "completed":
        return
    why = "review" if run["state"] == "waiting" else run["reason"] if run["state"] == "parked" else run["state"]
    if why not in allowed and not (why in ("outcome_unknown", "interrupted_tool") and _no_way(evidence)):
        yield "needlessly_open", f"run-{run['number']} did not complete ({why}): {run['sentence']}"


def _no_way(evidence: Evidence) -> bool:
    """Whether some doubt can be closed by nobody but a person: no harmless repeat, no absence that counts, nothing found."""
    for operation in evidence.seen.operations:
        learned = evidence.operations.get(operation["operation"])
        if operation["status"] != "unknown" or learned is None:
            continue
        contract = learned.contract
        asked = contract.lookup is not None and (absence_authorises(contract) or bool(evidence.records_of(operation)))
        if contract.key is None and contract.precondition is None and not asked:
            return True
    return False


def within_budget(evidence: Evidence) -> Iterator[Wrong]:
    """A run never used more tries than its budget has."""
    for run in evidence.seen.runs:
        for budget in run["budgets"]:
            if budget["kind"] == "attempts" and budget["used"] > budget["limit"]:
                yield "over_budget", f"run-{run['number']} used {budget['used']} tries of {budget['limit']}."


def sound(evidence: Evidence) -> Iterator[Wrong]:
    """The journal is whole, and the tables say what it says. Of a restored database the marker rightly says: cut off."""
    report = evidence.seen.verify
    cut_off = all(place["problem"] == "truncated" for place in report.get("broken", ()))
    if not report.get("sound") and not (evidence.restored and cut_off and not report.get("differences")):
        broken = {"broken": report.get("broken"), "differences": report.get("differences")}
        yield "record_not_sound", f"verify: heads outside {report.get('heads_outside')}, {broken}."


def saw_itself(evidence: Evidence) -> Iterator[Wrong]:
    """What the disturbance saw while it was at work."""
    for sentence in evidence.applied.wrong:
        yield "seen_meanwhile", sentence


CHECKS: tuple[Check, ...] = (
    once, as_approved, inside_operations, approvals_bound, receipts, ends_closed, invisible, came_to_rest, needlessly_open,
    within_budget, sound, saw_itself,
)  # fmt: skip
