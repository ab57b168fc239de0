"""Conditions over facts, asked of one combination or of millions by the same evaluation.

A part is a set of combinations: all that share some fixed facts. A condition asked within a part answers with a number
that has one bit for each of its combinations, so "and" over a quarter of a million combinations is one operation of
the machine. With every fact fixed the number is 1 or 0, a plain yes or no: a count can never disagree with a ruling.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import product
from math import prod

from counterfoil.rules.recovery_facts import FACTS, Facts

COMBINATIONS = prod(len(kind) for kind in FACTS.values())
_NAMES = {kind: name for name, kind in FACTS.items()}
_FIXED_FIRST = 2  # status and stop: forty parts of 36 kB a number, which fit a processor's cache


class Part:
    """The combinations that share `fixed`. Bit n is combination n in the order of `itertools.product` over the others."""

    __slots__ = ("everything", "fixed", "free", "known", "size")

    def __init__(self, fixed: dict[str, StrEnum]) -> None:
        self.fixed = fixed
        self.free = [(name, kind) for name, kind in FACTS.items() if name not in fixed]
        self.size = prod(len(kind) for _, kind in self.free)
        self.everything = (1 << self.size) - 1
        self.known: dict[Condition, int] = {}

    def having(self, name: str, wanted: frozenset[StrEnum]) -> int:
        """Bits of the combinations whose fact `name` is one of `wanted`."""
        if name in self.fixed:
            return self.everything if self.fixed[name] in wanted else 0
        names = [free for free, _ in self.free]
        run = prod(len(kind) for _, kind in self.free[names.index(name) + 1 :])
        block = (1 << run) - 1
        pattern = sum(block << place * run for place, value in enumerate(FACTS[name]) if value in wanted)
        return self._repeated(pattern, run * len(FACTS[name]))

    def _repeated(self, pattern: int, width: int) -> int:
        while width < self.size:
            pattern |= pattern << width
            width *= 2
        return pattern & self.everything


class Condition:
    """A statement about facts. Build it with `where`, `&`, `|` and `~`."""

    __slots__ = ("_bits",)

    def __init__(self, bits: Callable[[Part], int]) -> None:
        self._bits = bits

    def within(self, part: Part) -> int:
        """Bits of the combinations of `part` for which it holds."""
        bits = part.known.get(self)
        if bits is None:
            bits = part.known[self] = self._bits(part)
        return bits

    def __and__(self, other: "Condition") -> "Condition":
        # The first `and` only spares the second question where the answer is already no.
        return Condition(lambda part: (bits := self.within(part)) and bits & other.within(part))

    def __or__(self, other: "Condition") -> "Condition":
        return Condition(lambda part: self.within(part) | other.within(part))

    def __invert__(self) -> "Condition":
        return Condition(lambda part: part.everything ^ self.within(part))


def where(*values: StrEnum) -> Condition:
    """The fact that these values belong to has one of them. ValueError if they do not all belong to one fact."""
    (kind,) = {type(value) for value in values}
    name, wanted = _NAMES[kind], frozenset(values)
    return Condition(lambda part: part.having(name, wanted))


def any_of(first: Condition, *others: Condition) -> Condition:
    """At least one holds."""
    for other in others:
        first = first | other
    return first


def in_order(first: Condition, *others: Condition) -> tuple[Condition, ...]:
    """The same conditions, each only where no earlier one holds."""
    alone, earlier = [first], first
    for other in others:
        alone.append(other & ~earlier)
        earlier = earlier | other
    return tuple(alone)


def only(facts: Facts) -> Part:
    """The part that is this one combination."""
    return Part({name: getattr(facts, name) for name in FACTS})


def parts() -> Iterator[Part]:
    """Parts that together hold every combination once."""
    names = list(FACTS)[:_FIXED_FIRST]
    for values in product(*(FACTS[name] for name in names)):
        yield Part(dict(zip(names, values, strict=True)))
