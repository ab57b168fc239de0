"""Breadth first over every interleaving: the first story that reaches a broken state is a shortest one."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from counterfoil.testing.explore.invariants import stands
from counterfoil.testing.explore.kinds import KINDS
from counterfoil.testing.explore.person import Person
from counterfoil.testing.explore.receiver import Receiver
from counterfoil.testing.explore.scene import Scene
from counterfoil.testing.explore.state import SENT, Left, Move, State, Step, Worker
from counterfoil.testing.explore.worker import Program
from counterfoil.testing.explore.world import World


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a search goes: steps of a story, and how often what is rare may happen in one."""

    depth: int = 7
    workers: int = 2
    people: int = 1
    crashes: int = 1
    freezes: int = 1
    instants: int = 4
    words: int = 1
    mishaps: int = 1
    rare: int = 1


@dataclass(slots=True)
class Found:
    """What a search of one kind met. Stories are lists of steps; `residue` and `violations` by their name."""

    kind: str
    states: int = 0
    transitions: int = 0
    depth: int = 0
    complete: bool = False
    verbs: int = 0
    boundaries_crashed: set[str] = field(default_factory=set)
    cases_hit: set[str] = field(default_factory=set)
    residue: dict[tuple[str, ...], tuple[str, list[Step]]] = field(default_factory=dict)
    residue_states: Counter[tuple[str, ...]] = field(default_factory=Counter)
    violations: dict[str, tuple[list[dict[str, Any]], list[Step]]] = field(default_factory=dict)


class Search:
    """One kind, from its first state to the bounds."""

    def __init__(self, kind: str, bounds: Bounds) -> None:
        self.scene = Scene(KINDS[kind])
        self.bounds = bounds
        self.found = Found(kind)
        self._parts = [Program(self.scene), Person(self.scene), World(self.scene)]
        if not bounds.people:
            self._parts.pop(1)
        self._met: dict[Any, list[Left]] = {}  # states, each with what was left when it was met
        self._names: dict[str, str] = {}
        self._from: list[tuple[int, Step, bool]] = []

    def run(self, *, until_broken: bool = False) -> Found:
        """Search. `until_broken`: the first broken invariant is enough."""
        bounds, found = self.bounds, self.found
        left = Left(bounds.crashes, bounds.freezes, bounds.instants, bounds.words, bounds.mishaps, bounds.rare)
        workers = tuple(Worker(slot) for slot in range(1, bounds.workers + 1))
        first = State(self.scene.first(), 0, 0, Receiver(), workers, left)
        frontier, states = self._straight(first)
        while states and found.depth < bounds.depth:
            frontier, states = self._level(frontier, states)
            if states:
                found.depth += 1
            if until_broken and found.violations:
                break
        found.complete = not states
        found.states, found.verbs = len(self._from), self.scene.book.asked
        return found

    def _straight(self, first: State) -> tuple[list[int], list[State]]:
        """The undisturbed way to the first byte. Every state on it is a beginning: depth counts from there."""
        numbers = [self._meet(-1, Step("", None, None, ""), exchanged=False)]
        states = [first]
        self._is_new(first)
        while all(worker.phase != SENT for worker in states[-1].workers):
            move = next(
                (m for m in self._moves(states[-1]) if m.step.actor == "person" or m.step.actor.startswith("worker")),
                None,
            )
            if move is None:
                break
            state, exchanged = self.scene.canonical(move.state)
            self._is_new(state)
            self.found.transitions += 1
            numbers.append(self._meet(numbers[-1], move.step, exchanged=exchanged))
            states.append(state)
        return numbers, states

    def _level(self, frontier: list[int], states: list[State]) -> tuple[list[int], list[State]]:
        numbers: list[int] = []
        after: list[State] = []
        for number, state in zip(frontier, states, strict=True):
            for move in self._moves(state):
                self.found.transitions += 1
                if move.step.case is not None:
                    self.found.cases_hit.add(move.step.case)
                if move.crashed is not None:
                    self.found.boundaries_crashed.add(move.crashed)
                state_after, exchanged = self.scene.canonical(move.state)
                new = self._is_new(state_after)
                broken = move.broken + (stands(self.scene.view(state_after), state_after) if new else ())
                if broken:
                    self._broke(move, number, broken)
                elif new:
                    numbers.append(self._meet(number, move.step, exchanged=exchanged))
                    after.append(state_after)
        return numbers, after

    def _moves(self, state: State) -> Iterator[Move]:
        for part in self._parts:
            yield from part.moves(state)

    def _is_new(self, state: State) -> bool:
        """Not met before, or only with less left: whatever can follow with less can follow with more."""
        known = self._met.setdefault(state._replace(left=None), [])
        left = state.left
        if any(all(had >= has for had, has in zip(other, left, strict=True)) for other in known):
            return False
        known.append(left)
        return True

    def _meet(self, before: int, step: Step, *, exchanged: bool) -> int:
        self._from.append((before, step, exchanged))
        return len(self._from) - 1

    def _broke(self, move: Move, before: int, broken: tuple[str, ...]) -> None:
        """A broken state is not gone on from. It is residue only where what the design names has happened in the story."""
        story = self.story(before)
        story.append(_named(move.step, self._names))
        residue = tuple(sorted(move.state.residue))
        if residue:
            self.found.residue_states[residue] += 1
            self.found.residue.setdefault(residue, (broken[0], story))
            return
        records = [{"identity": e.identity, "content": e.content} for e in move.state.receiver.effects]
        for name in broken:
            self.found.violations.setdefault(name, (records, story))

    def story(self, number: int) -> list[Step]:
        """The steps that led to a state, with the workers called as they were at first."""
        path: list[tuple[Step, bool]] = []
        while number > 0:
            number, step, exchanged = self._from[number]
            path.append((step, exchanged))
        story, names = [], {"1": "1", "2": "2"}
        for step, exchanged in reversed(path):
            story.append(_named(step, names))
            if exchanged:
                names = {"1": names["2"], "2": names["1"]}
        self._names = names
        return story


def _named(step: Step, names: dict[str, str]) -> Step:
    def called(text: str) -> str:
        return re.sub(r"worker ([12])", lambda found: f"worker {names[found[1]]}", text)

    return step._replace(actor=called(step.actor), text=called(step.text))
