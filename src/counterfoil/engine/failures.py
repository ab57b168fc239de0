"""The failures that a workflow was told, so that one it does not answer can be forgotten by a retry."""

from typing import Any, TypeVar

from counterfoil.model.errors import StepFailed, failure_from

E = TypeVar("E", bound=Exception)


def said(error: BaseException) -> str:
    """Type and text of an exception, at most 2,000 characters; its own `__str__` may fail as well."""
    try:
        text = str(error)
    except Exception:
        text = "(it cannot say what it is)"
    return f"{type(error).__name__}: {text}"[:2000]


class Failures:
    """Each failure with the sequence of the entry that says so."""

    def __init__(self) -> None:
        self._told: list[tuple[Exception, int]] = []

    def recorded(self, facts: dict[str, Any], sequence: int) -> StepFailed:
        """The failure that an entry describes."""
        return self.told(failure_from(facts), sequence)

    def told(self, error: E, sequence: int) -> E:
        self._told.append((error, sequence))
        return error

    def sequence_of(self, error: BaseException) -> int | None:
        """Where the record says so; None for a failure that the workflow made itself."""
        return next((sequence for known, sequence in reversed(self._told) if known is error), None)
