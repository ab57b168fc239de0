"""One round of a sweep: each receiver in a lane of its own, one question at a time, and never more than its share."""

import asyncio
from dataclasses import dataclass, field

from counterfoil import settings
from counterfoil.app.sweeping.counting import Counted, count
from counterfoil.engine.opened import Opened
from counterfoil.model.delivery import SweepRecord
from counterfoil.model.errors import Refused
from counterfoil.model.slots import TapRecord
from counterfoil.store.port import Reader


@dataclass(slots=True)
class Round:
    """What was asked, and what is left to ask now. `unreachable`: receivers that gave no answer."""

    counted: list[Counted] = field(default_factory=list[Counted])
    left: bool = False
    unreachable: set[str] = field(default_factory=set[str])


def per_minute() -> int:
    """The setting. Raises Refused(usage)."""
    try:
        return max(1, int(settings.number_of("COUNTERFOIL_SWEEP_PER_MINUTE")))
    except ValueError as problem:
        raise Refused("usage", problem=str(problem)) from problem


async def swept(opened: Opened, *, receiver: str | None, again_before: int | None, most: int) -> Round:
    """At most `most` questions for each receiver. `again_before`: also what is not due, unless asked since then."""
    names: dict[str, set[str]] = {}
    for operation in opened.registry.operations.values():
        lookup = operation.contract.lookup
        if lookup is not None and not isinstance(lookup.function, str) and receiver in (None, operation.receiver):
            names.setdefault(operation.receiver, set()).add(operation.name)
    done = Round()
    lanes = [_lane(opened, name, known, again_before, most, done) for name, known in sorted(names.items())]
    problems = [each for each in await asyncio.gather(*lanes, return_exceptions=True) if each is not None]
    if problems:
        raise problems[0]  # when all others are asked
    return done


async def _lane(
    opened: Opened, receiver: str, names: set[str], again_before: int | None, most: int, done: Round
) -> None:
    now = opened.clock.now_us()
    with opened.read() as reader:
        tap = reader.get(TapRecord, receiver)
        if tap is not None and (tap.closed_until or 0) > now:
            return  # it asked to be left alone
        due = _due(reader, receiver, names, again_before, now, most + 1)
    done.left = done.left or len(due) > most
    for place, sweep in enumerate(due[:most], 1):
        counted = await count(opened, opened.registry.operations[sweep.name], sweep)
        done.counted.append(counted)
        if counted.sweep.problem is not None:
            done.unreachable.add(receiver)
            done.left = done.left or place < len(due)
            return  # the others would wait in vain


def _due(
    reader: Reader, receiver: str, names: set[str], again_before: int | None, now: int, limit: int
) -> list[SweepRecord]:
    if again_before is None:
        return reader.received.due_sweeps(now, receiver, names, limit)
    return reader.received.sweeps_again(again_before, receiver, names, limit)
