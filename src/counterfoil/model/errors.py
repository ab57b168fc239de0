"""One error base with stable codes. Control flow that user code must not swallow is not an Exception (see engine)."""

from collections.abc import Mapping, Sequence
from typing import Any

from counterfoil.model.error_codes import CODES


class _Blank(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


class CounterfoilError(Exception):
    """Base of every error of this library.

    `code` is stable, `message` says what happened, `safe_next` says what is safe to do next.
    """

    def __init__(self, code: str, **details: Any) -> None:
        entry = CODES.get(code) or CODES["defect"]
        if code not in CODES:
            details = {"problem": f"unknown error code {code}"} | details
        self.code = code
        self.details = details
        self.message = entry.message.format_map(_Blank(details))
        self.safe_next = entry.safe_next.format_map(_Blank(details))
        self.exit_status = entry.exit_status
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.__dict__.copy()))

    def __str__(self) -> str:
        return f"{self.message} ({self.code}) {self.safe_next}"


def _rebuild(kind: type[CounterfoilError], state: dict[str, Any]) -> CounterfoilError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (state["message"],)
    return error


class Refused(CounterfoilError):
    """A rule refused what was asked. Nothing was changed, unless `safe_next` says what was kept."""


class RunFailed(CounterfoilError):
    """The run ended failed or cancelled. `run_id` names it."""

    def __init__(self, run_id: str, state: str, problem: str) -> None:
        super().__init__("run_failed", run_id=run_id, state=state, problem=problem)
        self.run_id = run_id


class Unresolved(CounterfoilError):
    """Not finished: in doubt, in review, or parked. Do not send again.

    `command` is the command a person types next; `operation_id` is None when a run waits for another reason. `uncertain`
    names the operations that may have happened; nothing of it may be sent while it is empty and a review is open. `next_action`
    is NEXT of the command line: {code, sentence, who: {kind, name}, command, deadline_at}.
    """

    def __init__(
        self,
        run_id: str,
        operation_id: str | None,
        command: str,
        *,
        sentence: str = "",
        uncertain: Sequence[str] = (),
        next_action: Mapping[str, Any] | None = None,
    ) -> None:
        what = f"Operation {operation_id}" if operation_id else f"Run {run_id}"
        super().__init__("unresolved", what=what, sentence=sentence, command=command)
        self.run_id = run_id
        self.operation_id = operation_id
        self.command = command
        self.sentence = sentence
        self.uncertain = tuple(uncertain)
        self.next_action = dict(next_action or {})

    @property
    def who(self) -> dict[str, Any]:
        """Who can resolve it: {kind: scheduler, reviewer, operator or none; name}."""
        return self.next_action.get("who") or {"kind": "none", "name": None}


LONGEST = 4000  # characters of a failure's message: it is stored with the run, the entry and the park


class StepFailed(CounterfoilError):
    """Final: raised by a step to say that another try cannot help, and raised in a workflow to be answered there.

    Uncaught in a workflow it parks the run under its own reason. The same at first execution and at replay.
    """

    park_reason = "step_failed"

    def __init__(self, code: str, message: str, kind: str = "") -> None:
        # A message may quote a receiver or a document: half a character in it has no UTF-8, and could not be stored.
        message = message.encode(errors="backslashreplace").decode()[:LONGEST]
        Exception.__init__(self, message)
        self.code = code
        self.message = message
        self.kind = kind or type(self).__name__
        self.safe_next = "Answer it in the workflow, or correct its cause and use `counterfoil runs retry`."
        self.details: dict[str, Any] = {}
        self.exit_status = 1

    def facts(self) -> dict[str, Any]:
        """Plain JSON of this failure, as the journal keeps it."""
        return {"type": type(self).__name__, **{k: v for k, v in self.__dict__.items() if k not in _DERIVED}}


_DERIVED = {"safe_next", "exit_status", "details"}


class OperationFailed(StepFailed):
    """The receiver refused the operation, or it was withdrawn before it was sent. Evidence stands behind it."""

    def __init__(
        self, operation_id: str, message: str, *, code: str = "operation_failed", kind: str = "refused"
    ) -> None:
        super().__init__(code, message, kind)
        self.operation_id = operation_id


class ReviewRejected(StepFailed):
    """A person said no. Nothing was sent."""

    park_reason = "review_rejected"

    def __init__(self, review_id: str, reviewer: str, comment: str, ask_revision: bool) -> None:
        super().__init__("review_rejected", f"{reviewer} rejected it: {comment}", "rejected")
        self.review_id = review_id
        self.reviewer = reviewer
        self.comment = comment
        self.ask_revision = ask_revision


class ReviewExpired(StepFailed):
    """Nobody answered in time. Nothing was sent."""

    park_reason = "review_expired"

    def __init__(self, review_id: str) -> None:
        super().__init__("review_expired", f"Review {review_id} expired without an answer.", "expired")
        self.review_id = review_id


class DocumentMoved(StepFailed):
    """Another run wrote a newer version of a document than the one that was read. Nothing was written; read anew."""

    def __init__(self, name: str, seen: int, newest: int) -> None:
        super().__init__(
            "document_moved", f"The document {name} is at version {newest}; version {seen} was read.", "moved"
        )
        self.name = name
        self.seen = seen
        self.newest = newest


class TimedOut(StepFailed):
    """A durable timeout of the workflow passed."""

    park_reason = "expired"

    def __init__(self, what: str) -> None:
        super().__init__("timed_out", f"{what} did not happen in time.", "timed_out")
        self.what = what


_FAILURES: dict[str, type[StepFailed]] = {
    kind.__name__: kind
    for kind in (StepFailed, OperationFailed, ReviewRejected, ReviewExpired, DocumentMoved, TimedOut)
}


def failure_from(facts: dict[str, Any]) -> StepFailed:
    """The failure that `StepFailed.facts` described, equal in type and attributes."""
    kind = _FAILURES.get(facts["type"], StepFailed)
    failure = kind.__new__(kind)
    failure.__dict__.update({k: v for k, v in facts.items() if k != "type"})
    failure.args = (facts["message"],)
    failure.details = {}
    failure.exit_status = 1
    failure.safe_next = "Answer it in the workflow, or correct its cause and use `counterfoil runs retry`."
    return failure
