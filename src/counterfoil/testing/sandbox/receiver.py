"""The receiver itself: one write in, its effect and its answer out, by the contract in force."""

import threading
from dataclasses import dataclass, replace
from pathlib import Path

from counterfoil.testing.loopback.exchange import Reply, Request, error_reply, refusal
from counterfoil.testing.loopback.faults import LONGEST_HOLD_SECONDS, Fault, Faults
from counterfoil.testing.sandbox.answers import mismatch, replay
from counterfoil.testing.sandbox.clock import SandboxClock
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.effects import Effects
from counterfoil.testing.sandbox.keys import KeyEntry, Keys, Repeat, identity_of, repeat_of
from counterfoil.testing.sandbox.lookups import Lookups
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.steps import PreparedSteps
from counterfoil.testing.sandbox.writes import Write

HOLDING = frozenset({"slow", "hang"})
"""Faults under which the first request still runs after its effect exists."""
EFFECT = frozenset({"refuse", "error-after-accept", "late"})
"""Faults that change what happens. They stay armed while requests are answered from the key store."""
TRANSPORT = frozenset({"drop-reply", "hang", "slow", "garbage", "error-before-accept"})
LATE_BY_DEFAULT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided about a write. `entry`, if there is one, is to be finished once the reply has been held."""

    reply: Reply
    fault: Fault | None = None
    entry: KeyEntry | None = None
    place: str | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class _Landing:
    due: float
    write: Write
    identity: str | None
    entry: KeyEntry
    timer: threading.Timer


class Receiver:
    """One sandbox. Every public method takes the one lock; waiting for another request releases it."""

    def __init__(self, contract: SandboxContract, records: Records, faults: Faults, clock: SandboxClock) -> None:
        self._contract = contract
        self._records = records
        self._faults = faults
        self._clock = clock
        self._keys = Keys(records)
        self._effects = Effects(contract, records)
        self._lookups = Lookups(contract, records)
        self._steps = PreparedSteps()
        self._landings: list[_Landing] = []
        self._changed = threading.Condition()

    def write(self, write: Write) -> Outcome:
        """Decide one write. Its record, if it has one, is on the disk when this returns."""
        with self._changed:
            self._land()
            before = self._faults.take({"error-before-accept"})
            if before is not None:
                return Outcome(error_reply(503, "unavailable", "nothing was accepted"), before)
            identity = identity_of(self._contract, write)
            repeated = self._repeat(identity, write)
            if repeated is not None:
                return replace(repeated, fault=self._faults.take(TRANSPORT))
            return self._prepare(write) if self._contract.two_step else self._first(identity, write)

    def finish(self, outcome: Outcome) -> None:
        """The first request has ended: its key is no longer in progress."""
        if outcome.entry is not None:
            with self._changed:
                self._end(outcome.entry, outcome.reply, outcome.place)

    def lookup(self, request: Request) -> Reply:
        """Answer a GET."""
        with self._changed:
            self._land()
            return self._lookups.answer(request, self._clock.now())

    def witness(self) -> list[dict[str, object]]:
        """Every record that exists, shown by lookups or not yet."""
        with self._changed:
            self._land()
            return [record.witness() for record in self._records]

    def advance(self, seconds: float) -> None:
        """Move the clock; what is due lands, and locks let go. ValueError for a step back."""
        with self._changed:
            self._clock.advance(seconds)
            self._land()
            self._changed.notify_all()

    def hidden(self, path: str) -> int:
        """How many records of this path exist that a lookup does not show yet."""
        with self._changed:
            return self._lookups.hidden(path, self._clock.now())

    def lag(self, seconds: float) -> None:
        """From now on lookups show a record only so long after it was made. ValueError for less than nothing."""
        if seconds < 0:
            raise ValueError("a lookup lags by 0 seconds or more")
        with self._changed:
            self._lookups = Lookups(replace(self._contract, lookup_lag_seconds=seconds), self._records)

    def follow(self, shared: Path) -> None:
        """Take the time of those who share a clock's file. ValueError when there is none."""
        with self._changed:
            self._clock.follow(shared)

    def forget_keys(self) -> int:
        """Lose the key store, on the disk as well. How many keys it held."""
        with self._changed:
            held = self._keys.forget()
            self._records.replace(*(replace(record, identity=None) for record in self._records))
            self._changed.notify_all()
        return held

    def _repeat(self, identity: str | None, write: Write) -> Outcome | None:
        self._changed.wait_for(lambda: self._ruling(identity, write) != "wait", timeout=self._patience(identity))
        ruling, entry = self._ruling(identity, write), self._keys.find(identity)
        if ruling == "execute" or entry is None:
            return None
        if ruling == "late":
            return Outcome(error_reply(412, "too_late", "this key is older than what is remembered"))
        if ruling == "mismatch":
            return Outcome(mismatch(self._contract), place=entry.place)
        if ruling in {"busy", "wait"}:
            return Outcome(
                error_reply(self._contract.in_progress_status, "in_progress", "the first request still runs")
            )
        if ruling == "refuse":
            return Outcome(error_reply(422, "in_progress", "refused, because the first request still runs"))
        record = self._records.get(entry.place)
        if record is not None and ruling == "overwrite":
            effect = self._effects.upon(record, write)
            return Outcome(effect.reply, place=record.place, replayed=True)
        if record is not None and ruling == "resume":
            self._end(entry, Reply(201, record.shown()), record.place)
        return Outcome(replay(self._contract, entry, record), place=entry.place, replayed=True)

    def _ruling(self, identity: str | None, write: Write) -> Repeat:
        return repeat_of(self._contract, self._keys.find(identity), write.digest, self._clock.now())

    def _patience(self, identity: str | None) -> float:
        entry, limit = self._keys.find(identity), self._contract.lock_timeout_seconds
        if entry is None or limit is None:
            return LONGEST_HOLD_SECONDS
        return min(max(entry.started_at + limit - self._clock.now(), 0.0), LONGEST_HOLD_SECONDS)

    def _prepare(self, write: Write) -> Outcome:
        step = self._steps.take(write)
        return Outcome(step, self._faults.take(TRANSPORT)) if isinstance(step, Reply) else self._first(None, step)

    def _first(self, identity: str | None, write: Write) -> Outcome:
        fault = self._faults.take()
        name = None if fault is None else fault.name
        entry = self._keys.begin(identity, write.digest, self._clock.now())
        if name == "refuse":
            refused = refusal(fault or Fault("refuse"))
            self._end(entry, refused, None)
            return Outcome(refused, fault)
        if fault is not None and (name == "late" or (name == "hang" and self._contract.late_arrival_seconds > 0)):
            return self._later(identity, write, entry, fault)
        status = 500 if name == "error-after-accept" else 201
        effect = self._effects.make(write, identity, self._clock.now(), status=status)
        entry.place = effect.place
        if name in HOLDING:
            return Outcome(effect.reply, fault, entry, effect.place, not effect.made)
        self._end(entry, effect.reply, effect.place)
        return Outcome(effect.reply, fault, None, effect.place, not effect.made)

    def _later(self, identity: str | None, write: Write, entry: KeyEntry, fault: Fault) -> Outcome:
        seconds = fault.seconds
        if seconds is None:
            seconds = self._contract.late_arrival_seconds or LATE_BY_DEFAULT_SECONDS
        # The timer is for those who read only the record file; requests and the clock land what is due themselves.
        timer = threading.Timer(seconds + 0.01, self.witness)
        timer.daemon = True
        self._landings.append(_Landing(self._clock.now() + seconds, write, identity, entry, timer))
        timer.start()
        return Outcome(Reply(202, {"status": "accepted"}), fault)

    def _land(self) -> None:
        now = self._clock.now()
        due = [landing for landing in self._landings if landing.due <= now]
        self._landings = [landing for landing in self._landings if landing.due > now]
        for landing in due:
            landing.timer.cancel()
            # Its key may have let go and acted again meanwhile: the late effect lands all the same.
            effect = self._effects.make(landing.write, landing.identity, landing.due)
            self._end(landing.entry, effect.reply, effect.place)

    def _end(self, entry: KeyEntry, reply: Reply, place: str | None) -> None:
        entry.status, entry.body, entry.place, entry.ended_at = reply.status, reply.body, place, self._clock.now()
        self._changed.notify_all()
