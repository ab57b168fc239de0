"""Money as the database counts it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sum:
    """How many operations, and their amounts in the currency's minor unit; `minor` and `currency` None where none is marked.

    `what` is approved, succeeded, failed or unknown.
    """

    receiver: str
    operation: str
    currency: str | None
    what: str
    count: int
    minor: int | None
