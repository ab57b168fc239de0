"""Breadth first over every interleaving: the first story that reaches a broken state is a shortest one.

What is rare costs more than a step, so that plain stories are followed further than those in which much goes wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from counterfoil.testing.explore.invariants import stands
from counterfoil.testing.explore.kinds import KINDS
from counterfoil.testing.explore.person import Person
from counterfoil.testing.explore.receiver import Receiver
from counterfoil.testing.explore.scene import Scene
from counterfoil.testing.explore.state import DRIVE, SENT, Backup, Left, Move, State, Step, Worker
from counterfoil.testing.explore.worker import Program
from counterfoil.testing.explore.world import World

RARE_COST, WORD_COST = (
    4,
    3,
)  # steps that a crash, a freeze or a mishap costs, and a person's word; anything else costs one


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a search goes: the cost of a story, and how often what is rare may happen in one.

    `rare`: crashes, freezes and mishaps together.
    """

    depth: int = 8
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
    """What a search of one kind met. Stories are lists of steps; `residue` by its names, `violations` by their invariant."""

    kind: str
    states: int = 0
    transitions: int = 0
    depth: int = 0
    complete: bool = False
    boundaries_crashed: set[str] = field(default_factory=set[str])
    cases_hit: set[str] = field(default_factory=set[str])
    residue: dict[tuple[str, ...], tuple[str, list[Step]]] = field(default_factory=dict[Any, Any])
    residue_states: Counter[tuple[str, ...]] = field(default_factory=Counter[Any])
    violations: dict[str, tuple[list[dict[str, Any]], list[Step]]] = field(default_factory=dict[str, Any])


_PUT_BACK = (
    "its answer is lost", "its marker is ahead", "finishes the restore", "its lease ends", "claims the run", "in other words",
)  # fmt: skip
_Way = tuple[int, State]
_Part = Program | Person | World


class _Next(NamedTuple):
    """A state that waits to be looked at: the number of the one before it, and how it came to be."""

    before: int
    step: Step
    state: State
    exchanged: bool
    broken: tuple[str, ...]


class Search:
    """One kind, from its first state to the bounds."""

    def __init__(self, kind: str, bounds: Bounds) -> None:
        self.scene = Scene(KINDS[kind])
        self.bounds = bounds
        self.found = Found(kind)
        program, person, world = Program(self.scene), Person(self.scene), World(self.scene)
        self._actors = (program, person)
        self._parts = (program, person, world) if bounds.people else (program, world)
        self._met: dict[Any, list[Left]] = {}  # states, each with what was left when it was met
        self._from: list[tuple[int, Step, bool]] = []
        self._waiting: list[list[_Next]] = []  # by cost

    def run(self, *, until_broken: bool = False) -> Found:
        """Search. `until_broken`: the first broken invariant is enough."""
        bounds, found = self.bounds, self.found
        left = Left(bounds.crashes, bounds.freezes, bounds.instants, bounds.words, bounds.mishaps, bounds.rare)
        workers = tuple(Worker(slot) for slot in range(1, bounds.workers + 1))
        self._straight(State(self.scene.first(), 0, 0, Receiver(), workers, left))
        cut = False
        while found.depth < len(self._waiting):
            if found.depth > bounds.depth:
                cut = True
                break
            for waiting in self._waiting[found.depth]:
                self._look(waiting)
            self._waiting[found.depth] = []
            found.depth += 1
            if until_broken and found.violations:
                break
        found.depth -= 1
        found.complete = not cut and not (until_broken and found.violations)
        found.states = len(self._from)
        return found

    def _straight(self, state: State) -> None:
        """The undisturbed way to the first byte. Every state on it is a beginning: cost counts from there.

        So is every state on the way on which the database is put back to before the operation existed.
        """
        ways = self._sent([(self._meet(-1, Step("", None, None, ""), exchanged=False), state)])
        if state.left.has("mishaps") and self.bounds.people:  # a person ends the restore
            ways += self._put_back(*next(way for way in ways if any(w.phase == DRIVE for w in way[1].workers)))
        for number, state in ways:
            self._follow(number, state)

    def _sent(self, ways: list[_Way]) -> list[_Way]:
        """On from the last of them to the first byte."""
        self._is_new(ways[-1][1])
        while all(worker.phase != SENT for worker in ways[-1][1].workers):
            ways.append(self._gone(ways[-1], self._actors))
        return ways

    def _put_back(self, number: int, state: State) -> list[_Way]:
        """The way on which a backup is kept before the operation exists, which is then sent; and the backup is put back.

        The run is claimed anew, and plans the same in other words; that it may plan it in the same ones is for the search.
        """
        step = Step("operator", None, None, "a copy of the database is kept as a backup")
        kept = state._replace(backup=Backup(state.ledger, behind=False, at=state.wall), left=state.left.less("mishaps"))
        ways = self._sent([(self._meet(number, step, exchanged=False), kept)])
        for words in _PUT_BACK:
            ways.append(self._gone(ways[-1], self._parts, words))
        return ways[-4:]  # until it is put back, all is as without a backup

    def _gone(self, way: _Way, parts: Iterable[_Part], words: str = "") -> _Way:
        """One step further: the first that its parts would make, and that is called so."""
        number, state = way
        move = next(m for part in parts for m in part.moves(state) if words in m.step.text)
        self.found.transitions += 1
        state, exchanged = self.scene.canonical(move.state)
        self._is_new(state)
        return self._meet(number, move.step, exchanged=exchanged), state

    def _look(self, waiting: _Next) -> None:
        """Judge a state, and follow it where it is new and holds."""
        new = self._is_new(waiting.state)
        broken = waiting.broken + (stands(self.scene.view(waiting.state), waiting.state) if new else ())
        if broken:
            self._broke(waiting, broken)
        elif new:
            self._follow(self._meet(waiting.before, waiting.step, exchanged=waiting.exchanged), waiting.state)

    def _follow(self, number: int, state: State) -> None:
        """Everything that may happen next, at its cost."""
        at = self.found.depth
        for part in self._parts:
            for move in part.moves(state):
                cost = at + _cost(state.left, move.state.left)
                if cost <= self.bounds.depth:
                    self._note(move)
                    after, exchanged = self.scene.canonical(move.state)
                    if move.broken or self._is_new(after, keep=False):
                        self._wait(cost, _Next(number, move.step, after, exchanged, move.broken))
                else:
                    self._wait(cost, None)

    def _note(self, move: Move) -> None:
        self.found.transitions += 1
        if move.step.case is not None:
            self.found.cases_hit.add(move.step.case)
        if move.crashed is not None:
            self.found.boundaries_crashed.add(move.crashed)

    def _wait(self, cost: int, waiting: _Next | None) -> None:
        """Without one: only that something was left, so that the search is known to be cut."""
        while len(self._waiting) <= cost:
            self._waiting.append([])
        if waiting is not None:
            self._waiting[cost].append(waiting)

    def _is_new(self, state: State, *, keep: bool = True) -> bool:
        """Not met before, or only with less left: whatever can follow with less can follow with more."""
        known = self._met.setdefault(state._replace(left=None), [])  # pyright: ignore[reportArgumentType]
        left = state.left
        if any(all(had >= has for had, has in zip(other, left, strict=True)) for other in known):
            return False
        if keep:
            known.append(left)
        return True

    def _meet(self, before: int, step: Step, *, exchanged: bool) -> int:
        self._from.append((before, step, exchanged))
        return len(self._from) - 1

    def _broke(self, waiting: _Next, broken: tuple[str, ...]) -> None:
        """A broken state is not gone on from. It is residue only where what the design names has happened in the story."""
        residue = tuple(sorted(waiting.state.residue))
        if residue:
            self.found.residue_states[residue] += 1
        if residue in self.found.residue or (not residue and all(name in self.found.violations for name in broken)):
            return
        story = self._story(self._meet(waiting.before, waiting.step, exchanged=waiting.exchanged))
        if residue:
            self.found.residue[residue] = (broken[0], story)
            return
        records = [{"identity": e.identity, "content": e.content} for e in waiting.state.receiver.effects]
        for name in broken:
            self.found.violations.setdefault(name, (records, story))

    def _story(self, number: int) -> list[Step]:
        """The steps that led to a state, with the workers called as they were at first."""
        path: list[tuple[Step, bool]] = []
        while number > 0:
            number, step, exchanged = self._from[number]
            path.append((step, exchanged))
        story: list[Step] = []
        names = {"1": "1", "2": "2"}
        for step, exchanged in reversed(path):
            story.append(_named(step, names))
            if exchanged:
                names = {"1": names["2"], "2": names["1"]}
        return story


def _cost(before: Left, after: Left) -> int:
    return 1 + (RARE_COST - 1) * (before.rare - after.rare) + (WORD_COST - 1) * (before.words - after.words)


def _named(step: Step, names: dict[str, str]) -> Step:
    def called(text: str) -> str:
        return re.sub(r"worker ([12])", lambda found: f"worker {names[found[1]]}", text)

    return step._replace(actor=called(step.actor), text=called(step.text))
