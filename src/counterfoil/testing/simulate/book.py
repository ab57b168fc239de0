"""What people and clients of a simulation know for themselves: what they asked, approved, judged and allowed. No table is read."""

from collections import Counter
from dataclasses import dataclass, field

from counterfoil.testing.simulate.application import Plan


@dataclass(slots=True)
class Wish:
    """One request of a client. `acknowledged`: the ledger said that it is stored."""

    request_id: str
    plan: Plan
    at_us: int
    by: str | None
    run_id: str | None = None
    acknowledged: bool = False
    times: int = 0


@dataclass(slots=True)
class Consent:
    """One person's approval of one digest. Void from `void_us` on: withdrawn, revoked, or from before a restore."""

    operation_id: str
    digest: str
    person: str
    at_us: int
    void_us: int | None = None


@dataclass(slots=True)
class Stop:
    """A time in which nothing may leave. `scope` is all, or receiver:NAME."""

    scope: str
    from_us: int
    until_us: int | None = None


@dataclass(slots=True)
class Book:
    """Kept by the simulation, apart from the system."""

    wishes: list[Wish] = field(default_factory=lambda: [])
    stops: list[Stop] = field(default_factory=lambda: [])
    consents: list[Consent] = field(default_factory=lambda: [])
    allowed: Counter[str] = field(
        default_factory=lambda: Counter()
    )  # "action number": further occurrences that a person allowed
    words: dict[str, str] = field(default_factory=lambda: {})  # operation id: how a person judged it
    hasty: set[str] = field(default_factory=lambda: set())  # operations about which a person spoke without waiting
    restored_us: list[int] = field(default_factory=lambda: [])
    refused: Counter[str] = field(default_factory=lambda: Counter())  # by code: what the ledger refused to people
    wrong: list[str] = field(default_factory=lambda: [])  # what clients saw that must not be

    def stopped(self, scope: str, at_us: int) -> None:
        """From here on nothing may leave."""
        self.stops.append(Stop(scope, at_us))

    def lifted(self, scope: str, at_us: int) -> None:
        """Somebody let it go on."""
        for stop in self.stops:
            if stop.scope == scope and stop.until_us is None:
                stop.until_us = at_us

    def void_all(self, at_us: int) -> None:
        """A restore: no approval from before it counts."""
        for consent in self.consents:
            consent.void_us = at_us if consent.void_us is None else consent.void_us

    def void_of(self, at_us: int, *, person: str | None = None, operation_id: str | None = None) -> None:
        """A person lost the right to approve, or took an approval back."""
        for consent in self.consents:
            if consent.void_us is None and (consent.person == person or consent.operation_id == operation_id):
                consent.void_us = at_us
