"""What must hold, seen from outside: at the receiver, in people's own books, and over time. None asks the ledger's rules."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import rfc8785

from counterfoil.model.installation import IncidentRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Reader
from counterfoil.testing.simulate.application import EXPIRES_S, PEOPLE
from counterfoil.testing.simulate.book import Book
from counterfoil.testing.simulate.contracts import TIMEOUT_S, approvals_of
from counterfoil.testing.simulate.network import Departure, Network
from counterfoil.testing.simulate.receiver import Record
from counterfoil.testing.simulate.site import SECOND_US
from counterfoil.testing.simulate.world import WALL_AHEAD_US

SLACK_US = (TIMEOUT_S + 5) * SECOND_US  # from the commit that weighs an approval to the first byte


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must not be. `checker` is the name of who saw it."""

    checker: str
    what: str


@dataclass(slots=True)
class Seen:
    """What the checkers look at. `residue`: by name, what happened that the design names as left."""

    book: Book
    network: Network
    set_back_us: int  # by how much the wall clock was set back in all
    runs: Sequence[RunRecord]
    operations: dict[str, OperationRecord]
    incidents: Sequence[IncidentRecord]
    receipts: Sequence[ReceiptRecord]
    attempts: Sequence[AttemptRecord] = ()
    clock_moved: bool = False
    residue: Counter[str] = field(default_factory=lambda: Counter())

    @staticmethod
    def through(reader: Reader, book: Book, network: Network) -> "Seen":
        """As the ledger and the receiver stand now."""
        world = network.world
        return Seen(
            book, network, world.set_back_us, list(reader.rows(RunRecord)),
            {operation.operation_id: operation for operation in reader.rows(OperationRecord)},
            list(reader.rows(IncidentRecord)), list(reader.rows(ReceiptRecord)),
            list(reader.rows(AttemptRecord)), bool(world.clock_is_off_by or world.set_back_us),
        )  # fmt: skip


# ------------------------------------------------------------------ the receiver


def no_duplicates(seen: Seen) -> list[Violation]:
    """At most one record for each intention, or an incident, or a residue that has a name."""
    held: dict[str, list[Record]] = {}
    for record in seen.network.receiver.records:
        held.setdefault(_intention(record), []).append(record)
    found: list[Violation] = []
    for intention, records in held.items():
        if len(records) <= 1 + seen.book.allowed[intention]:
            continue
        references = sorted({record.reference for record in records})
        if not _excused(seen, references):
            found.append(Violation("duplicates", f"{len(records)} records for {intention}: {', '.join(references)}"))
    return found


def _intention(record: Record) -> str:
    """What the record is meant to be once: its number, or where there is no business key its operation."""
    return f"{record.action} {record.reference if record.action == 'loose' else record.body['number']}"


def nothing_wrongly_closed(seen: Seen) -> list[Violation]:
    """What is called done exists at the receiver; what is called failed does not."""
    found: list[Violation] = []
    references = Counter(receipt.operation_id for receipt in seen.receipts)
    for operation in seen.operations.values():
        held = seen.network.receiver.held_for(operation.operation_id)
        judged = operation.operation_id in seen.book.words or operation.resolution is not None
        if operation.status is OperationStatus.SUCCEEDED and operation.reused_from is None and not judged:
            exists = held or any(r.action == operation.name and r.id in operation.payload for r in _records(seen))
            if not exists or not references[operation.operation_id]:
                found.append(
                    Violation("closed", f"{_named(operation)} is called done, and there is no record or receipt of it")
                )
        if operation.status is OperationStatus.FAILED and held and not _excused(seen, [operation.operation_id]):
            found.append(
                Violation("closed", f"{_named(operation)} is called failed, and the receiver has {held[0].id}")
            )
    return found


def nothing_unledgered(seen: Seen) -> list[Violation]:
    """Every record belongs to an operation. After a restore an operation may be lost with its run's way to it."""
    if seen.book.restored_us:
        return []
    return [
        Violation("unledgered", f"{record.id} of {record.reference or 'nobody'} is at the receiver")
        for record in _records(seen)
        if record.reference not in seen.operations
    ]


# ------------------------------------------------------------------ authority


def approvals_bound(seen: Seen) -> list[Violation]:
    """Whatever left was approved before, with this very content, by enough people who might, and not too long ago."""
    found: list[Violation] = []
    for departure in seen.network.departures:
        needed = approvals_of(departure.request.action)
        people = _consented(seen, departure)
        if len(people) < needed:
            who = ", ".join(sorted(people)) or "nobody"
            found.append(
                Violation(
                    "approvals", f"{departure.request.reference} left with {needed} approvals needed; {who} approved it"
                )
            )
    return found


def _consented(seen: Seen, departure: Departure) -> set[str]:
    digest = "sha256:" + hashlib.sha256(rfc8785.dumps(dict(departure.request.body))).hexdigest()
    at_us, slack = departure.checked_us, SLACK_US + seen.set_back_us
    return {
        consent.person
        for consent in seen.book.consents
        if (consent.operation_id, consent.digest) == (departure.request.reference, digest)
        and "manager" in PEOPLE[consent.person]
        and consent.at_us <= at_us <= consent.at_us + EXPIRES_S * SECOND_US + slack
        and (consent.void_us is None or at_us <= consent.void_us + slack)
    }


def stops_kept(seen: Seen) -> list[Violation]:
    """Nothing leaves while a person has stopped sending, or a restore is unfinished, but what was weighed before."""
    return [
        Violation("stops", f"{departure.request.reference} left although sending was stopped ({stop.scope})")
        for stop in seen.book.stops
        for departure in seen.network.departures
        if stop.from_us + (0 if stop.scope == "restored" else SLACK_US) < departure.checked_us
        and (stop.until_us is None or departure.checked_us < stop.until_us)
    ]


def in_time(seen: Seen) -> list[Violation]:
    """Nothing leaves after its attempt's deadline. Where the wall clock was set, or attempts were lost, nobody can say."""
    if seen.set_back_us or seen.book.restored_us or seen.clock_moved:
        return []
    found: list[Violation] = []
    for departure in seen.network.departures:
        at = departure.checked_us + WALL_AHEAD_US
        begun = [a for a in seen.attempts if a.operation_id == departure.request.reference and a.started_at <= at]
        if begun and max(attempt.deadline_at for attempt in begun) < at:
            found.append(Violation("deadline", f"{departure.request.reference} left after its attempt's deadline"))
    return found


# ------------------------------------------------------------------ over time


def nobody_waits_in_silence(runs: Sequence[RunRecord]) -> list[Violation]:
    """Every run that has not ended names its owner and its deadline."""
    return [
        Violation("silence", f"run-{run.number} is {run.state.value} ({run.reason}) without an owner or a deadline")
        for run in runs
        if not run.state.ended and (not run.owner or run.deadline_at is None)
    ]


def all_accounted(seen: Seen) -> list[str]:
    """Runs that the ledger said it has, and has not."""
    known = {run.run_id for run in seen.runs}
    return [wish.request_id for wish in seen.book.wishes if wish.acknowledged and wish.run_id not in known]


def all_end(seen: Seen, wall_us: int) -> list[Violation]:
    """Some time after the last disturbance everything has ended, or waits for a named person."""
    found = [
        Violation("liveness", f"{wish.request_id} was never taken")
        for wish in seen.book.wishes
        if not wish.acknowledged
    ]
    for run in seen.runs:
        if run.state.ended:
            continue
        asks = run.state is RunState.PARKED and run.owner and run.deadline_at is not None
        late = run.deadline_at is not None and run.deadline_at + 300 * SECOND_US < wall_us
        if asks and not late:
            seen.residue[f"left to a person: {run.reason}"] += 1
        else:
            why = f"run-{run.number} is still {run.state.value} ({run.reason}): {run.sentence}"
            found.append(Violation("liveness", why))
    return found


# ------------------------------------------------------------------ what is left, by name


def _excused(seen: Seen, references: Sequence[str]) -> bool:
    """Why these may have a record too many: counted by name, so that nothing is left out in silence."""
    for reference in references:
        why = _why(seen, reference)
        if why is not None:
            seen.residue[why] += 1
            return True
    return False


def _why(seen: Seen, reference: str) -> str | None:
    incidents = [each for each in seen.incidents if each.operation_id == reference]
    if incidents:
        return "an incident says so"
    if reference in seen.network.breaches:
        return seen.network.breaches[reference]
    if reference in seen.book.hasty:
        return "a person's wrong word"
    return None


def _records(seen: Seen) -> Sequence[Record]:
    return seen.network.receiver.records


def _named(operation: OperationRecord) -> str:
    return f"op-{operation.number} ({operation.name} {operation.operation_id})"
