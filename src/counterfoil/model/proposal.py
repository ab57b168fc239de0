"""A proposal: a versioned payload that somebody may be asked to approve."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ProposalRecord:
    """One row of `proposals`. `sources` is JSON: the artifacts it rests on, each with its digest."""

    proposal_id: str
    operation_id: str
    run_id: str
    version: int
    payload: str
    payload_digest: str
    sources: str
    position: str
    made_at: int


@dataclass(frozen=True)
class Proposal(Generic[P, R]):
    """What `run.propose` gives back: version `version` of one operation's payload, with its digest."""

    proposal_id: str
    operation_id: str
    operation: Any
    payload: P
    version: int
    digest: str
