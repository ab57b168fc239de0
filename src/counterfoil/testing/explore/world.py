"""What nobody does: time passes, processes die, requests arrive, clocks step, and a database is put back."""

from collections.abc import Iterator

from counterfoil.engine.restoring import BeginRestore
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.run import RunState
from counterfoil.store.records import changed
from counterfoil.testing.explore.alike import GONE, LONGEST_US, START, earlier, renamed
from counterfoil.testing.explore.kinds import SECOND
from counterfoil.testing.explore.ledger import each
from counterfoil.testing.explore.receiver import (
    MODES,
    Request,
    arrive,
    effected,
    passed,
)
from counterfoil.testing.explore.scene import INSTALLATION, Scene, View
from counterfoil.testing.explore.state import ASKED, IDLE, MARKED, REPLIED, SENT, TRY, Backup, Move, State, Step, Worker

CLOCK_STEP = 200 * SECOND  # longer than every time of the contracts, shorter than a review
FROZEN, CONTRACT_BROKEN, UNRECOGNISED = "frozen_at_the_wire", "contract_broken", "unrecognised_restore"

_TOLD = {
    "ok": "", "error": ", which answers with an error", "failed": ", which fails and does nothing",
    "refuse": ", which refuses it", "slow": ", which is still at work",
}  # fmt: skip


class World:
    """The moves of everything that is nobody's act."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._kind = scene, scene.kind

    def moves(self, state: State) -> Iterator[Move]:
        """What may happen next."""
        if state.left.has("crashes"):
            yield from self._crashes(state)
        view = self._scene.view(state)
        if view.review is None and not view.installation.incarnation:
            return  # nothing can be sent yet: only crashes can matter
        yield from self._arrivals(state)
        yield from self._completions(state)
        if state.left.has("instants"):
            yield from self._instants(state, view)
        if state.left.has("mishaps") and at_stake(state, view):
            yield from self._mishaps(state)
        if state.backup is not None:
            yield from self._restores(state, state.backup)

    # ------------------------------------------------------------------ requests

    def _arrivals(self, state: State) -> Iterator[Move]:
        for request in state.receiver.wire:
            for mode in MODES:
                if mode == "ok" or state.left.has("mishaps"):
                    yield from self._arrival(state, request, mode)

    def _arrival(self, state: State, request: Request, mode: str) -> Iterator[Move]:
        arrived = arrive(self._kind, state.receiver, request, START, mode)
        if arrived is None:
            return
        receiver, reply = arrived
        residue = state.residue
        if (
            self._kind.keyed
            and len(receiver.effects) > len(state.receiver.effects)
            and request.promised_until() < START
        ):
            residue |= {
                FROZEN
            }  # without a key no second send relies on the receiver's memory: there nothing excuses it
        left = state.left if mode == "ok" else state.left.less("mishaps")
        after = state._replace(receiver=receiver, residue=residue, left=left)
        text = f"attempt {request.attempt} arrives at the receiver{_TOLD[mode]}"
        yield Move(Step("network", None, None, f"{text}; its answer is lost"), after)
        waits = next(
            (w for w in state.workers if w.process == request.process and w.data[:1] == (request.attempt,)), None
        )
        if waits is not None and waits.phase == SENT and reply.status is not None:
            heard = waits._replace(phase=REPLIED, slow=False, at="operation.replied", data=(request.attempt, reply))
            yield Move(
                Step("network", "operation.replied", None, f"{text}; {waits.name} hears {reply.status}"),
                after.with_worker(heard),
            )

    def _completions(self, state: State) -> Iterator[Move]:
        """A request at work comes to its effect, at any time within what the receiver allows."""
        for request in state.receiver.working:
            working = tuple(other for other in state.receiver.working if other != request)
            receiver = state.receiver._replace(working=working)
            receiver = effected(self._kind, receiver, request, START, 201, made=True)
            step = Step("receiver", None, None, f"the receiver finishes its work on attempt {request.attempt}")
            yield Move(step, state._replace(receiver=receiver))

    # ------------------------------------------------------------------ processes

    def _crashes(self, state: State) -> Iterator[Move]:
        left = state.left.less("crashes")
        for worker in state.workers:
            if worker.phase != IDLE:
                step = Step(worker.name, worker.at, None, f"is killed after {worker.at}")
                after = self._ended(state._replace(left=left), (worker,))
                yield Move(step, after, crashed=worker.at)

    def _ended(self, state: State, workers: tuple[Worker, ...]) -> State:
        """These processes are gone: what they sent arrives in bounded time. Others are started in their place."""
        names = frozenset(worker.process for worker in workers)
        wire = tuple(r._replace(gone=START, process=GONE) if r.process in names else r for r in state.receiver.wire)
        ledger = self._renamed(state.ledger, names)
        backup = state.backup and state.backup._replace(ledger=self._renamed(state.backup.ledger, names))
        state = state._replace(ledger=ledger, backup=backup, receiver=state.receiver._replace(wire=wire))
        for worker in workers:
            state = state.with_worker(Worker(worker.slot))
        return state

    def _renamed(self, ledger: int, names: frozenset[str]) -> int:
        return self._scene.book.changed(ledger, names, lambda rows: each(rows, lambda row: renamed(row, names)))

    # ------------------------------------------------------------------ time

    def _instants(self, state: State, view: View) -> Iterator[Move]:
        """To the next instant at which anything may change, and to when the receiver's and the network's times are over.

        Workers do at once what they can: one over which time passes is frozen, and that is counted.
        """
        due = view.run.due_at is not None and view.run.due_at <= state.wall
        if (
            due
            and view.run.state in (RunState.PENDING, RunState.WAITING)
            and any(w.phase == IDLE for w in state.workers)
        ):
            return
        frozen = sum(1 for w in state.workers if w.phase not in (IDLE, SENT) and not w.slow)
        if not state.left.has("freezes", frozen):
            return
        left = state.left.less("instants").less("freezes", frozen)
        state = state._replace(workers=tuple(w._replace(slow=w.phase not in (IDLE, SENT)) for w in state.workers))
        soon, over = self._candidates(state)
        later = [time for time in (*soon, *over) if time > START]
        if not later:
            return
        ends = max((time for time in over if time > START), default=min(later))
        for by in sorted({min(later) - START, ends - START}):
            step = Step("time", None, None, f"{by / SECOND:.9g} seconds pass")
            yield Move(step, self._passed(state._replace(left=left), by))

    def _passed(self, state: State, by: int) -> State:
        """Everything that is stored lies further back, and what can matter no more is forgotten."""
        state = state._replace(floor=max(0, state.floor - by))
        now = state.wall

        def back(ledger: int) -> int:
            return self._scene.book.changed(ledger, ("earlier", by, now), lambda rows: earlier(rows, by, now))

        backup = state.backup
        if backup is not None:
            backup = Backup(back(backup.ledger), backup.behind, max(backup.at - by, START - LONGEST_US))
        workers = tuple(moved_back(worker, by) for worker in state.workers)
        receiver = passed(self._kind, state.receiver, by)
        return state._replace(ledger=back(state.ledger), backup=backup, workers=workers, receiver=receiver)

    def _candidates(self, state: State) -> tuple[list[int], list[int]]:
        """Instants on the clock that counts sleep: of leases, reviews and pauses; and those after which less can arrive."""
        run, away = self._scene.view(state).run, state.wall - START
        look, inside = self._scene.looks(state)
        soon = [time - away for time in (look, run.lease_until, run.due_at) if time is not None]
        over = [time - away for time in (inside,) if time is not None]
        for worker in state.workers:
            if worker.phase == MARKED:
                over.append(worker.data[3])
        for request in state.receiver.wire:
            over += [request.deadline, request.promised_until() + 1]
            if request.gone is not None:
                over.append((request.arrives_until() or 0) + 1)
        window = self._kind.receiver.key_window_seconds
        if window is not None:
            over += [kept.at + int(window) * SECOND for kept in state.receiver.keys]
        lags = (1, 2) if self._kind.eventual else (1,)
        over += [effect.at + self._kind.lag_us * times for effect in state.receiver.effects for times in lags]
        return soon, over

    # ------------------------------------------------------------------ mishaps

    def _mishaps(self, state: State) -> Iterator[Move]:
        state = state._replace(left=state.left.less("mishaps"))
        if self._scene.view(state).attempts:
            yield self._clock(state, CLOCK_STEP)
            yield self._clock(state, -CLOCK_STEP)
        if state.backup is None and any(worker.phase in (TRY, MARKED) for worker in state.workers):
            step = Step("operator", None, None, "a copy of the database is kept as a backup")
            yield Move(step, state._replace(backup=Backup(state.ledger, behind=False, at=state.wall)))
        if state.receiver.keys:
            lost = state._replace(receiver=state.receiver._replace(keys=()), residue=state.residue | {CONTRACT_BROKEN})
            yield Move(Step("receiver", None, None, "the receiver loses its keys, against its contract"), lost)

    @staticmethod
    def _clock(state: State, by: int) -> Move:
        """The wall clock steps. Processes that are at work know it; one that idles may as well be started after it."""
        workers = tuple(w._replace(jumped=True) if w.phase != IDLE else w for w in state.workers)
        after = state._replace(offset=state.offset + by, floor=max(state.floor, state.wall), workers=workers)
        return Move(Step("time", None, None, f"the wall clock steps {'forward' if by > 0 else 'back'}"), after)

    def _restores(self, state: State, backup: Backup) -> Iterator[Move]:
        """The database is put back while nothing runs. Where its marker is ahead, it is recognised; or the marker went too."""
        stopped = self._ended(state, state.workers)  # also who was idle: the backup may know one of them at work
        workers = tuple(worker._replace(jumped=False) for worker in stopped.workers)
        back = stopped._replace(ledger=self._as_of(stopped.backup or backup), backup=None, workers=workers)
        if not backup.behind:
            step = Step("operator", None, None, "the backup is put back; nothing was sent or forbidden since")
            yield Move(step, back)
            return
        operation = self._scene.view(back).operation
        open_ = (operation.operation_id,) if operation is not None and not operation.status.closed else ()
        known = self._scene.view(state).installation.incarnation
        _, begun = self._scene.ask(
            back,
            ("restore", known, open_),
            lambda: BeginRestore(INSTALLATION, "behind", "", known, open_),
        )
        step = Step(
            "operator", "installation.changed", None, "the backup is put back; its marker is ahead: sending stops"
        )
        yield Move(step, begun)
        step = Step("operator", None, None, "the backup is put back together with its marker: nothing recognises it")
        yield Move(step, back._replace(residue=back.residue | {UNRECOGNISED}))

    def _as_of(self, backup: Backup) -> int:
        """A ledger's time is left out where it only grows. Of a backup it says what may have been sent since."""
        return self._scene.book.changed(
            backup.ledger, ("as of", backup.at),
            lambda rows: each(rows, lambda row: changed(row, clock_us=backup.at) if isinstance(row, InstallationRecord) else row),
        )  # fmt: skip


def at_stake(state: State, view: View) -> bool:
    """Something may be sent next, or may have been: before and after that a mishap, or a person's stop, is one of these."""
    operation = view.operation
    if operation is None or operation.status.closed:
        return bool(state.receiver.wire)
    return bool(operation.sent) or any(worker.phase in (TRY, MARKED) for worker in state.workers)


def moved_back(worker: Worker, by: int) -> Worker:
    """A worker after time has passed: the times that it holds lie further back."""
    if worker.phase == MARKED:
        n, identity, content, boot, wall = worker.data
        return worker._replace(data=(n, identity, content, boot - by, wall - by))
    if worker.phase == ASKED:
        return worker._replace(data=(worker.data[0] - by, *worker.data[1:]))
    return worker
