"""What was rehearsed before unattended writes are allowed, and what a named person allows without it for a while."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Covered:
    """What one drill speaks for: an operation under one contract, as one version of a workflow performs it."""

    operation: str
    contract_digest: str
    workflow: str
    workflow_version: int


@dataclass(frozen=True, slots=True)
class PlayedCase:
    """One case of a drill. `not_built`: why its fault cannot be played by this release; None where it can."""

    case_id: str
    fault: str
    verdict: str  # pass, fail, not_applicable, not_run
    not_built: str | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A drill as it is registered. `left_out`: ids of the cases that belong to it and were not played."""

    target: str
    target_digest: str
    seed: int
    covers: tuple[Covered, ...]
    cases: tuple[PlayedCase, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DrillRecord:
    """One row of `drills`: the newest passing drill of an operation, a contract and a workflow's version.

    `by` is who registered it, None for a program that named nobody.
    """

    operation: str
    contract_digest: str
    workflow: str
    workflow_version: int
    target: str
    target_digest: str
    seed: int
    cases: int
    passed: int
    not_applicable: int
    not_run: int
    by: str | None
    at: int


@dataclass(frozen=True, slots=True)
class WaiverRecord:
    """One row of `waivers`: a named person lets an operation be sent without a drill, until `ends_at`.

    An operation has one; another one takes its place, and the journal keeps both.
    """

    operation: str
    reason: str
    by: str
    at: int
    ends_at: int
    revoked_at: int | None
    revoked_by: str | None
