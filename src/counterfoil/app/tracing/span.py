"""A span before it is anybody's format: names, times and ids that are the same however often it is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

Attribute = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Span:
    """Times in microseconds. `calls` is True where somebody else is asked: a model, a receiver. `error` names what failed."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    began_at: int
    ended_at: int
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: {})
    links: tuple[int, ...] = ()
    error: str | None = None
    calls: bool = False


def trace_id(run_id: str) -> int:
    """One trace is one run, whoever drove it and how often."""
    return int.from_bytes(sha256(f"trace\x1f{run_id}".encode()).digest()[:16])


def span_id(run_id: str, what: str, which: str | int) -> int:
    """From what the span is about, so a span that is told again is the same span."""
    return int.from_bytes(sha256(f"span\x1f{run_id}\x1f{what}\x1f{which}".encode()).digest()[:8])
