"""A worker's program, one commit or one act at a time. It is glue: what to do next is asked of the engine's own functions.

`then_of`, `demanded`, `senders_gone`, `next_key_number`, `key_of` and `deadline_passed` are what engine/driver.py and
engine/sender.py ask as well; every commit is the verb that they would write.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from counterfoil.engine.advance import Advance, Advanced, OpenReview, Then, demanded, then_of
from counterfoil.engine.attempts import SenderGone, senders_gone
from counterfoil.engine.finish import Finish, Park, Suspend
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.proposals import Prepare, Propose
from counterfoil.engine.sender import next_key_number
from counterfoil.engine.verb import RunVerb
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.model.run import ParkReason, RunState
from counterfoil.testing.explore.alike import FENCE, START
from counterfoil.testing.explore.kinds import SECOND
from counterfoil.testing.explore.receiver import shown
from counterfoil.testing.explore.scene import CONTENT_OF, DEADLINES, OWNER, POSITION, RUN_ID, Scene, View
from counterfoil.testing.explore.sending import Sending
from counterfoil.testing.explore.state import (
    ASKED,
    DRIVE,
    IDLE,
    MARKED,
    OPEN,
    REPLIED,
    SENT,
    TRY,
    Move,
    State,
    Worker,
    said,
)

HOLD_US = 5 * SECOND  # another doubt, or a clock: looked at again by itself


@dataclass(frozen=True, slots=True)
class Rest:
    """How a run is left: parked under a reason, or waiting until it is due."""

    reason: ParkReason | None
    due: int | None
    letter: str
    sentence: str


class Program:
    """The moves of the workers of one scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        sending = Sending(scene)
        self._phases = {
            IDLE: self._idle, DRIVE: self._drive, OPEN: self._open, TRY: sending.begin, MARKED: sending.first_byte,
            SENT: sending.give_up, REPLIED: sending.end, ASKED: sending.record,
        }  # fmt: skip

    def moves(self, state: State) -> Iterator[Move]:
        """What each worker may do next. Workers that idle are alike: the first of them is enough."""
        view = self._scene.view(state)
        idles = False
        for worker in state.workers:
            if worker.phase != IDLE or not idles:
                yield from self._phases[worker.phase](state, worker, view)
            idles = idles or worker.phase == IDLE

    # ------------------------------------------------------------------ taking up a run

    def _idle(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        run = view.run
        if run.state is RunState.PARKED or run.state.ended:
            return
        held = run.worker_id if run.state is RunState.RUNNING else None
        if held is not None and (run.lease_until or 0) > state.wall:
            if all(other.process != held for other in state.workers):
                _, after = self._scene.ask(
                    state, ("holder gone", held, run.fence), lambda: HolderGone(RUN_ID, held, run.fence)
                )
                yield said(after, worker._replace(at="lease.renewed"), "finds the holder's lock free: its lease ends")
            return
        applied, after = self._scene.ask(
            state, ("claim", worker.process, held), lambda: Claim(RUN_ID, worker.process, DEADLINES, holder=held)
        )
        claimed = applied.outcome.unwrap()
        if claimed is not None:
            takes = worker._replace(phase=DRIVE, fence=FENCE, at="run.claimed")
            yield said(after, takes, "claims the run under a new fence")

    # ------------------------------------------------------------------ asking the table

    def _drive(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        operation = view.operation
        if operation is None:
            # After a restore the workflow plans anew, and a model in other words.
            for content in ("a", "b") if view.installation.incarnation else ("a",):
                yield self._prepare(state, worker, content)
            return
        gone = senders_gone(view.attempts, worker.process, lambda attempt: _is_dead(state, attempt))
        if gone and not operation.status.closed:
            target = self._scene.target(operation, jumped=worker.jumped)
            _, after = self._scene.ask(state, ("gone", gone, worker.jumped), lambda: SenderGone(RUN_ID, target, gone))
            yield said(after, worker._replace(at="operation.advanced"), "records that the earlier sender is gone")
        elif _revises(view, operation):
            yield self._propose(state, worker, operation)
        else:
            yield from self._advance(state, worker, operation)

    def _advance(self, state: State, worker: Worker, operation: OperationRecord) -> Iterator[Move]:
        target = self._scene.target(operation, jumped=worker.jumped)
        applied, after = self._scene.ask(state, ("advance", worker.jumped), lambda: Advance(RUN_ID, target))
        advanced: Advanced = applied.outcome.unwrap()
        if applied.wrote:
            worker = worker._replace(at="operation.advanced")
        text = f"asks the table: {advanced.ruling.kind.value.replace('_', ' ')}"
        if advanced.ruling.reason:
            text += f" ({advanced.ruling.reason})"
        for move in self._followed(after, worker, advanced):
            step = move.step._replace(
                text=f"{text}; {move.step.text}" if move.step.text else text, case=advanced.case.letter
            )
            yield move._replace(step=step)

    def _followed(self, state: State, worker: Worker, advanced: Advanced) -> Iterator[Move]:
        """After a ruling, as `engine.driver` goes on. What acts on nothing of its own is one step with what follows it."""
        then, record = then_of(advanced), advanced.operation
        view = self._scene.view(state)
        match then:
            case Then.ENDED:
                yield self._finish(state, worker, record)
            case Then.TRY:
                number = next_key_number(record, max((a.started_at for a in view.attempts), default=0))
                tries = worker._replace(phase=TRY, data=(number, CONTENT_OF[record.payload_digest]))
                yield said(state, tries, "")
            case Then.ASK:
                yield from self._look_up(state, worker, record)
            case Then.OPEN:
                yield said(state, worker._replace(phase=OPEN, data=()), "")
            case Then.WAIT | Then.STAND:
                reason = demanded(advanced) if then is Then.STAND else None
                due = state.wall + HOLD_US if advanced.next_at is None and then is Then.STAND else advanced.next_at
                yield self._leave(state, worker, view, Rest(reason, due, advanced.case.letter, advanced.case.sentence))
            case Then.AGAIN:
                yield said(state, worker._replace(phase=DRIVE, data=()), "")

    def _open(self, state: State, worker: Worker, view: View) -> Iterator[Move]:
        assert view.operation is not None
        target = self._scene.target(view.operation, jumped=worker.jumped)
        applied, after = self._scene.ask(state, ("open", worker.jumped), lambda: OpenReview(RUN_ID, target))
        advanced: Advanced = applied.outcome.unwrap()
        opened = worker._replace(phase=DRIVE, at="review.opened", data=())
        yield said(after, opened, "opens the question to a person", advanced.case.letter)

    # ------------------------------------------------------------------ what the workflow does

    def _prepare(self, state: State, worker: Worker, content: str) -> Move:
        intent, fence = self._scene.intent(content), worker.fence
        applied, after = self._scene.ask(
            state, ("prepare", fence, content), lambda: Prepare(RUN_ID, fence, POSITION, intent, None, {}, DEADLINES)
        )
        worker = worker._replace(at="operation.prepared")
        text = "prepares the operation" if content == "a" else "prepares the operation in other words"
        return said(after, worker, text, refused=applied.outcome.error)

    def _propose(self, state: State, worker: Worker, operation: OperationRecord) -> Move:
        intent, fence, replaced, key = (
            self._scene.intent("b"),
            worker.fence,
            operation.operation_id,
            operation.business_key,
        )
        applied, after = self._scene.ask(
            state,
            ("propose", fence),
            lambda: Propose(RUN_ID, fence, "2", intent, replaced, [], {}, DEADLINES, replaced_key=key),
        )
        return said(after, worker._replace(at="proposal.made"), "proposes version 2", refused=applied.outcome.error)

    def _look_up(self, state: State, worker: Worker, record: OperationRecord) -> Iterator[Move]:
        """Asked at once; the answer may be recorded much later."""
        replicas = (False, True) if self._scene.kind.eventual else (False,)
        answers = {shown(self._scene.kind, state.receiver, START, replica=replica) for replica in replicas}
        for places in sorted(answers):
            seen = tuple(state.receiver.effects[place].content for place in places)
            asked = worker._replace(phase=ASKED, data=(state.wall, record.attempts, seen, None))
            yield said(state, asked, f"the receiver shows {len(seen) or 'nothing'}")
        if state.left.has("mishaps"):
            asked = worker._replace(phase=ASKED, data=(state.wall, record.attempts, (), "unreachable"))
            left = state.left.less("mishaps")
            yield said(state._replace(left=left), asked, "the receiver is out of reach")

    # ------------------------------------------------------------------ leaving a run

    def _leave(self, state: State, worker: Worker, view: View, rest: Rest) -> Move:
        deadline = rest.due if rest.due is not None else state.wall + OWNER["within_us"]
        fence, verb = worker.fence, self._leaving(worker.fence, view, rest, deadline)
        applied, after = self._scene.ask(state, (verb.boundary, fence, rest.reason, deadline), lambda: verb)
        if applied.outcome.error is None and applied.outcome.value is False:
            return said(state, worker._replace(phase=DRIVE, data=()), "what stopped it is over")
        left = worker._replace(phase=IDLE, at=verb.boundary, data=())
        text = f"parks the run: {rest.reason.value}" if rest.reason is not None else "lets the run wait"
        return said(after, left, text, rest.letter, refused=applied.outcome.error)

    @staticmethod
    def _leaving(fence: int, view: View, rest: Rest, deadline: int) -> Park | Suspend:
        if rest.reason is not None:
            heading = "cancelled" if view.run.cancel_asked else None
            return Park(RUN_ID, fence, view.run.sequence, rest.reason, rest.sentence, OWNER, heading, None, None)
        why = "review" if view.review is not None and view.review.state is ReviewState.OPEN else "receiver"
        owner, then = OWNER["name"], OWNER["then"]
        return Suspend(RUN_ID, fence, view.run.sequence, [], why, rest.sentence, deadline, deadline, owner, then)

    def _finish(self, state: State, worker: Worker, record: OperationRecord) -> Move:
        ends = RunState.COMPLETED if record.status is OperationStatus.SUCCEEDED else RunState.FAILED
        if self._scene.view(state).run.cancel_asked:
            ends = RunState.CANCELLED
        keys = (record.business_key,) if record.business_key else ()
        verb: RunVerb = Finish(RUN_ID, worker.fence, ends, None, None, None, keys)
        applied, after = self._scene.ask(state, ("finish", worker.fence, ends), lambda: verb)
        done = worker._replace(phase=IDLE, at="run.finished", data=())
        return said(after, done, f"ends the run: {ends.value}", refused=applied.outcome.error)


def _revises(view: View, operation: OperationRecord) -> bool:
    """The workflow answers "please revise" with its second version."""
    review = view.review
    asked = review is not None and review.state is ReviewState.REJECTED and bool(review.ask_revision)
    unsent = operation.status is OperationStatus.PREPARED and not operation.sent
    return asked and unsent and review is not None and review.proposal_version == operation.proposal_version == 1


def _is_dead(state: State, attempt: AttemptRecord) -> bool:
    """Its lock is free: no process of that name is there any more."""
    return all(worker.process != attempt.worker_id for worker in state.workers)
