"""Timers, signals, children, messages and documents of a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.engine.waking import wake
from counterfoil.model.access import Act
from counterfoil.model.codec import digest_of
from counterfoil.model.conversation import DocumentRecord, MessageRecord, SignalRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.rules.wishes import about_run
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class OpenTimer(RunVerb):
    """A sleep, a timeout, a wait or a child's start: `data` holds until_us after now as `within_us`. Gives the entry."""

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    deadlines: Deadlines
    kind: EntryKind = EntryKind.TIMER
    boundary: ClassVar[str] = "timer.opened"

    def decide(self, tx: Transaction) -> Any:
        tx.put(touched(driven(tx, self.run_id, self.fence), tx.now, self.deadlines))
        data = self.data
        if "within_us" in data:
            data = data | {"until": tx.now + data["within_us"]}
        return tx.append(self.run_id, self.kind, position=self.position, name=self.name, data=data)


@dataclass(frozen=True, slots=True)
class StartChild(OpenTimer):
    """A child is about to be submitted: its id stands in `data`."""

    kind: EntryKind = EntryKind.CHILD
    boundary: ClassVar[str] = "child.started"


@dataclass(frozen=True, slots=True)
class Fire(RunVerb):
    """A timer's time has come. Gives the entry, or None when by the database's clock it has not."""

    fence: int
    position: str
    name: str
    until: int
    deadlines: Deadlines
    boundary: ClassVar[str] = "timer.fired"

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        if tx.now < self.until:
            return None
        tx.put(touched(run, tx.now, self.deadlines))
        return tx.append(
            self.run_id, EntryKind.FIRED, position=self.position, name=self.name, data={"until": self.until}
        )


@dataclass(frozen=True, slots=True)
class StoreSignal(RunVerb):
    """From outside: stored first, matched later. The same signal id with other content is refused."""

    signal_id: str
    name: str
    payload: str
    by: str | None = None  # the person who sends it, where one is named
    boundary: ClassVar[str] = "signal.stored"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id), Read.by(SignalRecord, "run_id", self.run_id), *acting_reads(self.by)
        )  # fmt: skip

    def decide(self, tx: Transaction) -> str:
        run = tx.must(RunRecord, self.run_id)
        if self.by is not None:
            permitted(tx, self.by, about_run(Act.SIGNAL, run))
        digest = digest_of(f"{self.name}\x1f{self.payload}".encode())
        for known in tx.find(SignalRecord, "run_id", self.run_id):
            if known.signal_id == self.signal_id:
                if known.payload_digest != digest:
                    raise Refused("signal_conflict", signal_id=self.signal_id)
                return "existing"
        if run.state.ended:
            raise Refused("run_ended", run_id=self.run_id, state=run.state.value)
        tx.put(SignalRecord(self.run_id, self.signal_id, self.name, self.payload, digest, tx.now, None))
        wake(tx, self.run_id)
        said = {"signal_id": self.signal_id} | ({} if self.by is None else {"by": self.by})
        tx.append(self.run_id, EntryKind.SIGNAL, name=self.name, data=said)
        return "new"


@dataclass(frozen=True, slots=True)
class Receive(RunVerb):
    """Match the oldest signal of a name that nothing has taken and that fits. Gives the entry, or None.

    One that does not fit its type stays stored, untaken and listed: whoever may send a signal cannot break a run by a slip.
    """

    fence: int
    position: str
    name: str
    fits: Callable[[str], bool]
    deadlines: Deadlines
    boundary: ClassVar[str] = "signal.received"

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), Read.by(SignalRecord, "run_id", self.run_id))

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        untaken = [s for s in tx.find(SignalRecord, "run_id", self.run_id) if s.taken_by is None]
        open_ = [s for s in untaken if s.name == self.name and self.fits(s.payload)]
        if not open_:
            return None
        signal = min(open_, key=lambda s: (s.at, s.signal_id))
        tx.put(replace(signal, taken_by=self.position))
        tx.put(touched(run, tx.now, self.deadlines))
        return tx.append(
            self.run_id,
            EntryKind.RECEIVED,
            position=self.position,
            name=f"wait_for {self.name}",
            data={"signal_id": signal.signal_id, "out": signal.payload},
        )


@dataclass(frozen=True, slots=True)
class TakeChild(RunVerb):
    """A child's end at the position that waits for it. Gives the entry, or None while the child goes on."""

    fence: int
    position: str
    name: str
    child_id: str
    deadlines: Deadlines
    boundary: ClassVar[str] = "child.ended"

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), Read.key(RunRecord, self.child_id))

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        child = tx.must(RunRecord, self.child_id)
        if not child.state.ended:
            return None
        tx.put(touched(run, tx.now, self.deadlines))
        return tx.append(
            self.run_id,
            EntryKind.RECEIVED,
            position=self.position,
            name=self.name,
            data={"child": self.child_id, "state": child.state.value, "out": child.result, "failure": child.failure},
        )


@dataclass(frozen=True, slots=True)
class AppendMessage(RunVerb):
    """One message of the conversation."""

    fence: int
    position: str
    role: str
    text: str
    deadlines: Deadlines
    data: dict[str, Any]
    boundary: ClassVar[str] = "record.appended"

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        tx.put(touched(run, tx.now, self.deadlines))
        tx.put(MessageRecord(self.run_id, run.sequence + 1, self.role, self.text, tx.now))
        return tx.append(
            self.run_id, EntryKind.MESSAGE, position=self.position, name="message", data=self.data | {"role": self.role}
        )


@dataclass(frozen=True, slots=True)
class PutDocument(RunVerb):
    """The next version of a working-context document."""

    fence: int
    position: str
    name: str
    body: str
    deadlines: Deadlines
    data: dict[str, Any]
    boundary: ClassVar[str] = "record.appended"

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), Read.by(DocumentRecord, "run_id", self.run_id))

    def decide(self, tx: Transaction) -> Any:
        tx.put(touched(driven(tx, self.run_id, self.fence), tx.now, self.deadlines))
        version = 1 + sum(1 for known in tx.find(DocumentRecord, "run_id", self.run_id) if known.name == self.name)
        digest = digest_of(self.body.encode())
        tx.put(DocumentRecord(self.run_id, self.name, version, digest, self.body, tx.now))
        return tx.append(
            self.run_id,
            EntryKind.DOCUMENT,
            position=self.position,
            name=self.name,
            data=self.data | {"version": version, "digest": digest},
        )
