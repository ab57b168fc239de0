"""What a run's journal says about each position: recorded, to execute, or a mismatch. Pure: entries in, answers out."""

from dataclasses import dataclass, field
from typing import Any

from counterfoil.model.journal import EntryKind


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call at a position ended. `sequence` orders the release of outcomes; `failure` is None for a value."""

    sequence: int
    at: int
    value: Any
    failure: dict[str, Any] | None = None


@dataclass(slots=True)
class Opened:
    """What the journal knows of a call that has not ended yet."""

    kind: EntryKind
    name: str
    data: dict[str, Any]
    sequence: int
    at: int


_ENDS = frozenset(
    {EntryKind.STEP, EntryKind.STEP_FAILED, EntryKind.DECISION, EntryKind.FIRED, EntryKind.RECEIVED, EntryKind.MESSAGE,
     EntryKind.DOCUMENT, EntryKind.PROPOSAL}
)  # fmt: skip
_OPENS = frozenset({EntryKind.PREPARED, EntryKind.TIMER, EntryKind.CHILD, EntryKind.ASKED})


@dataclass(slots=True)
class Journal:
    """A run's entries by what a replay asks of them. Folding is linear; nothing is kept that no position asks for."""

    names: dict[str, tuple[str, str | None]] = field(default_factory=lambda: {})  # position: name, input digest
    opened: dict[str, Opened] = field(default_factory=lambda: {})
    ended: dict[str, Outcome] = field(default_factory=lambda: {})
    closings: dict[str, Outcome] = field(default_factory=lambda: {})  # by operation id
    verdicts: dict[tuple[str, int], list[Outcome]] = field(default_factory=lambda: {})  # by operation id and version
    tries: dict[str, int] = field(default_factory=lambda: {})
    last_try_at: dict[str, int] = field(default_factory=lambda: {})
    problems: dict[str, str] = field(default_factory=lambda: {})  # what the last try at a position failed of
    asked: dict[str, int] = field(default_factory=lambda: {})
    lost: dict[str, int] = field(default_factory=lambda: {})
    losses: dict[str, int] = field(default_factory=lambda: {})  # of those, since a person last moved the run
    drawn: set[str] = field(default_factory=lambda: set())  # positions whose call a budget has counted
    order: list[int] = field(default_factory=lambda: [])  # sequences of outcomes, ascending
    seen: int = -1
    _parked_void: int | None = None

    def fold(
        self, sequence: int, kind: EntryKind, position: str | None, name: str | None, data: dict[str, Any], at: int
    ) -> None:
        self.seen = max(self.seen, sequence)
        if position is not None:
            self._fold_call(sequence, kind, position, name or "", data, at)
        if kind is EntryKind.CLOSED:
            self._end_operation(self.closings, data["operation_id"], Outcome(sequence, at, data))
        elif kind is EntryKind.EXPIRED and data["kind"] == "first":
            self._end_version(data, Outcome(sequence, at, data, {"expired": data["review_id"]}))
        elif (
            kind in (EntryKind.ANSWER, EntryKind.WITHDRAWN)
            and data["matched"] == "now"
            and data["decision"] == "reject"
        ):
            if data["kind"] == "first":
                self._end_version(data, Outcome(sequence, at, data, {"rejected": data["review_id"]}))
        elif kind in (EntryKind.PARKED, EntryKind.FINISHED):
            self._parked_void = data.get("void")
        elif kind is EntryKind.RESUMED:
            self.losses.clear()
            if self._parked_void is not None:
                self.forget(self._parked_void)
                self._parked_void = None

    def forget(self, sequence: int) -> None:
        """A person asked for another try: the failure with this sequence is no longer an outcome."""
        for outcomes in (self.ended, self.closings):
            for key in [key for key, outcome in outcomes.items() if outcome.sequence == sequence]:
                del outcomes[key]
                for known in (self.opened, self.tries, self.asked, self.lost):
                    known.pop(key, None)
        for key, told in self.verdicts.items():
            self.verdicts[key] = [outcome for outcome in told if outcome.sequence != sequence]
        if sequence in self.order:
            self.order.remove(sequence)

    def verdict(self, operation_id: str, version: int, position: str) -> Outcome | None:
        """What the reviews of a version said to the call at a position: a rejection holds wherever it is performed again,

        an expiry only for the call that waited.
        """
        opened = self.opened.get(position)
        since = opened.sequence if opened is not None else -1
        for outcome in self.verdicts.get((operation_id, version), ()):
            if "rejected" in (outcome.failure or {}) or outcome.sequence > since:
                return outcome
        return None

    def _fold_call(
        self, sequence: int, kind: EntryKind, position: str, name: str, data: dict[str, Any], at: int
    ) -> None:
        self.names[position] = (name, data.get("in", self.names.get(position, ("", None))[1]))
        if kind in _ENDS:
            self.ended[position] = Outcome(sequence, at, data, data.get("failure"))
            self.order.append(sequence)
        elif kind in (EntryKind.TRY_FAILED, EntryKind.LOOKED_UP):  # one at a position was asked in vain
            self.tries[position] = self.tries.get(position, 0) + 1
            self.last_try_at[position] = at
            if data.get("problem"):
                self.problems[position] = data["problem"]
        elif kind is EntryKind.LOST:
            self.lost[position] = self.lost.get(position, 0) + 1
            self.losses[position] = self.losses.get(position, 0) + 1
        elif kind is EntryKind.DRAWN:
            self.drawn.add(position)
        elif kind in _OPENS:
            self.opened[position] = Opened(kind, name, data, sequence, at)
            if kind is EntryKind.ASKED:
                self.asked[position] = self.asked.get(position, 0) + 1

    def _end_operation(self, outcomes: dict[str, Outcome], key: str, outcome: Outcome) -> None:
        if key not in outcomes:
            outcomes[key] = outcome
            self.order.append(outcome.sequence)

    def _end_version(self, data: dict[str, Any], outcome: Outcome) -> None:
        self.verdicts.setdefault((data["operation_id"], data["version"]), []).append(outcome)
        self.order.append(outcome.sequence)

    def mismatch(self, position: str, name: str, digest: str | None) -> tuple[str, str] | None:
        """None, or (what the record holds, what the code asks for) when a replayed call differs in name or input."""
        recorded = self.names.get(position)
        if recorded is None or (
            recorded[0] == name and (recorded[1] is None or digest is None or recorded[1] == digest)
        ):
            return None
        return f"{recorded[0]} {recorded[1] or ''}".strip(), f"{name} {digest or ''}".strip()
