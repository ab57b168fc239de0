"""The one person: approver, operator and owner in turn. What a person may say is what the verbs let through."""

from collections.abc import Callable, Hashable, Iterator

from counterfoil.engine.administration import CloseIncident, FinishRestore, ResumeWrites, RevokePerson, SuspendWrites
from counterfoil.engine.cancelling import AskToCancel
from counterfoil.engine.finish import Resume
from counterfoil.engine.resolve import Resolution, Resolve
from counterfoil.engine.reviews import Answer, WithdrawApproval
from counterfoil.engine.verb import RunVerb
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import ParkReason, RunState
from counterfoil.testing.explore.scene import (
    CONTENT_OF,
    DEADLINES,
    INSTALLATION,
    OPERATOR,
    REVIEWERS,
    RUN_ID,
    TRIES,
    Scene,
    View,
)
from counterfoil.testing.explore.state import MARKED, SENT, Move, State, Step
from counterfoil.testing.explore.world import at_stake

FREE, WORD, MISHAP = "free", "words", "mishaps"
WRONG_WORD = "wrong_word"

_WORDS = (("succeeded", False), ("failed", False), ("send_again", False), ("send_again", True))
_CALLED = {
    ("succeeded", False): "it happened", ("failed", False): "it did not happen",
    ("send_again", False): "send again under the same key", ("send_again", True): "send again under a new key",
}  # fmt: skip


class Person:
    """The moves of the person of one scene. Each costs a word or a mishap, or nothing where the product waits for it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def moves(self, state: State) -> Iterator[Move]:
        """What the person may do next."""
        view = self._scene.view(state)
        found = [*self._reviewing(state, view), *self._stopping(state, view)]
        if view.operation is not None:
            found += [*self._resolving(state, view, view.operation), *self._tending(state, view, view.operation)]
        yield from (move for move in found if move is not None)

    # ------------------------------------------------------------------ reviews

    def _reviewing(self, state: State, view: View) -> Iterator[Move | None]:
        review, operation = view.review, view.operation
        who = next((name for name in REVIEWERS if view.people[name].revoked_at is None), None)
        if review is None or operation is None or who is None:
            return
        if review.state is ReviewState.OPEN:
            late = review.expires_at <= state.wall  # kept as it came; it decides nothing
            yield self._answer(state, review, who, approve=True, revise=False, cost=WORD if late else FREE)
            yield self._answer(state, review, who, approve=False, revise=False, cost=WORD)
            if not operation.sent and review.proposal_version == 1:
                yield self._answer(state, review, who, approve=False, revise=True, cost=WORD)
        if review.state is ReviewState.APPROVED and at_stake(state, view):
            yield self._says(
                state, ("withdraw", review.review_id), "review.answered", f"{who} takes the approval back", WORD,
                lambda: WithdrawApproval(RUN_ID, review.review_id, review.operation_id, who, "", False), sends=True,
            )  # fmt: skip
            reviewer = review.reviewer or who
            if view.people[reviewer].revoked_at is None:
                yield self._says(
                    state, ("revoke", reviewer), "installation.changed", f"an administrator revokes {reviewer}", MISHAP,
                    lambda: RevokePerson(INSTALLATION, reviewer), sends=True,
                )  # fmt: skip

    def _answer(
        self, state: State, review: ReviewRecord, who: str, *, approve: bool, revise: bool, cost: str
    ) -> Move | None:
        said = "approves" if approve else "asks for another version of" if revise else "rejects"
        return self._says(
            state, ("answer", review.review_id, who, approve, revise), "review.answered",
            f"{who} {said} version {review.proposal_version}", cost,
            lambda: Answer(RUN_ID, review.review_id, review.operation_id, who, approve, review.digest, "", revise),
            sends=True,
        )  # fmt: skip

    # ------------------------------------------------------------------ stops

    def _stopping(self, state: State, view: View) -> Iterator[Move | None]:
        parked = view.run.state is RunState.PARKED
        woken = (RUN_ID,) if parked else ()
        if view.suspended:
            held = woken if view.run.reason == ParkReason.WRITES_SUSPENDED else ()
            yield self._says(
                state, ("lift", held), "installation.changed", f"{OPERATOR} lets writes go on", FREE,
                lambda: ResumeWrites(INSTALLATION, "all", OPERATOR, "", held),
            )  # fmt: skip
        elif at_stake(state, view):
            yield self._says(
                state, ("suspend",), "installation.changed", f"{OPERATOR} suspends writes", MISHAP,
                lambda: SuspendWrites(INSTALLATION, "all", OPERATOR, ""), sends=True,
            )  # fmt: skip
        if view.installation.restore_state == "open":
            yield self._says(
                state, ("finish restore", woken), "installation.changed", f"{OPERATOR} finishes the restore", FREE,
                lambda: FinishRestore(INSTALLATION, "restored", OPERATOR, "", woken, ()), sends=True,
            )  # fmt: skip
        if at_stake(state, view) and not view.run.state.ended and not view.run.cancel_asked:
            yield self._says(
                state, ("cancel",), "run.cancelled", f"{OPERATOR} cancels the run", WORD,
                lambda: AskToCancel(RUN_ID, OPERATOR, ""), sends=True,
            )  # fmt: skip

    # ------------------------------------------------------------------ doubts

    def _resolving(self, state: State, view: View, operation: OperationRecord) -> Iterator[Move | None]:
        if operation.status is not OperationStatus.UNKNOWN or operation.resolution is not None:
            return
        target = self._scene.target(operation)
        for as_, new_key in _WORDS:
            said = Resolution(as_, new_key, OPERATOR, "", "", None, "record-1" if as_ == "succeeded" else None, 1)
            move = self._says(
                state, ("resolve", as_, new_key), "operation.resolved", f"{OPERATOR} says: {_CALLED[as_, new_key]}", WORD,
                lambda said=said: Resolve(RUN_ID, target, said), sends=True,
            )  # fmt: skip
            content = CONTENT_OF[operation.payload_digest]
            if move is not None and self._is_wrong(state, as_, content, new_key=new_key):
                residue = move.state.residue | {WRONG_WORD}
                move = move._replace(state=move.state._replace(residue=residue))
            yield move

    @staticmethod
    def _is_wrong(state: State, as_: str, content: str, *, new_key: bool) -> bool:
        """A word against what is so, or about what is still under way: nobody can know that yet.

        "It happened" is said of these words; what happened in others is no success of this operation.
        """
        receiver = state.receiver
        sending = any(worker.phase in (MARKED, SENT) for worker in state.workers)
        happens = bool(receiver.effects or receiver.wire or receiver.working or sending)
        if as_ == "succeeded":
            return all(effect.content != content for effect in receiver.effects)
        return happens and (as_ == "failed" or new_key)

    def _tending(self, state: State, view: View, operation: OperationRecord) -> Iterator[Move | None]:
        for incident in view.incidents:
            if incident.closed_at is None:
                yield self._says(
                    state, ("close", incident.incident_id), "operation.resolved", f"{OPERATOR} closes the incident", WORD,
                    lambda i=incident: CloseIncident(RUN_ID, i.incident_id, operation.operation_id, OPERATOR, ""),
                )  # fmt: skip
        if view.run.state is RunState.PARKED:
            spent = view.run.reason == ParkReason.BUDGET_ATTEMPTS
            raises: dict[str, int] = {"attempts": TRIES + 2} if spent else {}
            yield self._says(
                state, ("resume", spent), "run.resumed", f"{OPERATOR} lets the run go on", WORD,
                lambda: Resume(RUN_ID, OPERATOR, False, raises, DEADLINES),
            )  # fmt: skip

    def _says(
        self,
        state: State,
        asks: Hashable,
        boundary: str,
        text: str,
        cost: str,
        make: Callable[[], RunVerb],
        *,
        sends: bool = False,
    ) -> Move | None:
        """The move of one verb; None where it is refused, changes nothing, or may not happen any more in this story."""
        left = state.left
        if cost != FREE:
            if not left.has(cost):
                return None
            left = left.less(cost)
        applied, after = self._scene.ask(state, asks, make, sends=sends)
        if applied.outcome.error is not None or after.ledger == state.ledger:
            return None
        return Move(Step("person", boundary, self._scene.view(after).case, text), after._replace(left=left))
