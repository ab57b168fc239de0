"""What every view is given: one snapshot, the time at which it is shown, and how a printed command names the database."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from counterfoil.engine.definitions import Registry
from counterfoil.engine.opened import Opened
from counterfoil.model.access import GrantRecord
from counterfoil.model.installation import SuspensionRecord
from counterfoil.model.people import PersonRecord
from counterfoil.rules.authority import acts_alone, may_decide
from counterfoil.rules.permissions import Wish, allowed, standing_of
from counterfoil.store.port import Reader


@dataclass(frozen=True, slots=True)
class Shown:
    """`now` in microseconds. `database`: what `--db` must say, None where the default finds it."""

    reader: Reader
    now: int
    database: str | None
    single_person: bool
    restore_open: bool
    restore_reason: str | None
    people: tuple[PersonRecord, ...]
    grants: tuple[GrantRecord, ...]
    suspensions: tuple[SuspensionRecord, ...]
    registry: Registry | None = None

    @staticmethod
    def of(opened: Opened, reader: Reader) -> "Shown":
        """What is shown of an opened application, in one of its snapshots."""
        installation = reader.installation
        return Shown(
            reader=reader,
            now=opened.clock.now_us(),
            database=opened.named,
            single_person=installation is not None and bool(installation.single_person),
            restore_open=installation is not None and installation.restore_state == "open",
            restore_reason=None if installation is None else installation.restore_reason,
            people=tuple(reader.lists.people()),
            grants=tuple(reader.rows(GrantRecord)),
            suspensions=tuple(s for s in reader.lists.suspensions() if s.lifted_at is None),
            registry=opened.registry,
        )

    def command(self, *words: str) -> str:
        """A command that works when typed as printed. What only a person knows is left out; it is asked by prompt."""
        place = () if self.database is None else ("--db", self.database)
        return shlex.join(("counterfoil", *words, *place))

    def by(self, roles: Iterable[str | None], *, acted: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """`--by PERSON` for somebody who may decide, or nothing: then the person says who it is."""
        wanted = [role for role in roles if role]
        for person in self.people:
            alone = acts_alone(person, acted, self.people, single_person=self.single_person)
            if not alone and any(may_decide(person, role, self.people) for role in wanted):
                return ("--by", person.name)
        return ()

    def who_may(self, wish: Wish, *, acted: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """As `by`, for somebody whose grants cover the wish: first one whose role it names, else anybody who may."""
        able: list[str] = []
        for person in self.people:
            standing = standing_of(person, self.people, self.grants)
            alone = acts_alone(person, acted, self.people, single_person=self.single_person)
            if alone or not allowed(standing, wish):
                continue
            if standing.roles & wish.roles:
                return ("--by", person.name)
            able.append(person.name)
        return ("--by", able[0]) if able else ()

    def suspended(self, operation_id: str, receiver: str) -> SuspensionRecord | None:
        """The suspension that holds this operation now."""
        scopes = {"all", f"operation:{operation_id}", f"receiver:{receiver}"}
        return next((suspension for suspension in self.suspensions if suspension.scope in scopes), None)
