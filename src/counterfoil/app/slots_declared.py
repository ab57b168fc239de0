"""Limits over all workers as they are declared: one that would let nothing through is refused before anything runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter

from counterfoil.engine.definitions import DEFAULT_QUEUE, Registry
from counterfoil.model.breaker import Breaker
from counterfoil.model.errors import Refused
from counterfoil.model.slots import Partition, Rate


@dataclass(frozen=True, slots=True)
class WorkflowLimits:
    """How many runs of a workflow are driven at once, and by which workers."""

    concurrency: int | None = None
    partition: Partition | None = None
    queue: str = DEFAULT_QUEUE


UNLIMITED = WorkflowLimits()


def check_slots(
    name: str, *, concurrency: int | None, rate: Rate | None = None, breaker: Breaker | None = None
) -> None:
    """Raises Refused(limit_unfit)."""
    problem = next(_slots(concurrency), None) or next(_rate(rate), None) or next(_breaker(breaker), None)
    if problem is not None:
        raise Refused("limit_unfit", name=name, problem=problem)


def check_workflow_limits(name: str, limits: WorkflowLimits, input_of: TypeAdapter[Any]) -> None:
    """Raises Refused(limit_unfit): also for a partition by a field that the input does not have."""
    problem = next(_slots(limits.concurrency), None) or next(_partition(limits.partition, input_of), None)
    if problem is None and (not limits.queue.strip() or not limits.queue.isprintable()):
        problem = "its queue has no name, or one that is not printable"
    if problem is not None:
        raise Refused("limit_unfit", name=name, problem=problem)


def _slots(concurrency: Any) -> Iterator[str]:
    if concurrency is not None and (type(concurrency) is not int or concurrency < 1):
        yield f"the concurrency is {concurrency!r}, and no whole number above zero"


def _rate(rate: Rate | None) -> Iterator[str]:
    if rate is None:
        return
    for what, count in (("count", rate.count), ("burst", rate.at_once)):
        if type(count) is not int or count < 1:
            yield f"the {what} of its rate is {count!r}, and no whole number above zero"
    if rate.per < timedelta(microseconds=1):
        yield f"the time of its rate is {rate.per!r}, and no time above zero"


def _breaker(breaker: Breaker | None) -> Iterator[str]:
    if breaker is None:
        return
    if type(breaker.failures) is not int or breaker.failures < 1:
        yield f"its breaker opens after {breaker.failures!r} failures, and that is no whole number above zero"
    if not timedelta(0) < breaker.pause <= breaker.longest:
        yield f"its breaker pauses for {breaker.pause!r}, and that is not above zero and at most {breaker.longest!r}"


def _partition(partition: Partition | None, input_of: TypeAdapter[Any]) -> Iterator[str]:
    if partition is None:
        return
    yield from _slots(partition.concurrency)
    schema = input_of.json_schema()
    known = schema.get("properties", {})
    if partition.field not in known:
        yield f"it is partitioned by {partition.field!r}, and its input has {', '.join(known) or 'no fields'}"


def check_queues(registry: Registry, queues: frozenset[str] | None) -> None:
    """A worker for a queue that no workflow declares would do nothing. Raises Refused(unknown_queue)."""
    known = {workflow.queue for workflow in registry.workflows.values()}
    unknown = sorted((queues or frozenset()) - known)
    if unknown:
        raise Refused("unknown_queue", name=unknown[0], known=", ".join(sorted(known)))
