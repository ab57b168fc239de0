"""Who may do what: a person's roles become lines, one per thing that a role may do, and a wish is held against them.

A role that was never granted anything has its built-in meaning. Once a grant was given to it only its grants count, and
stay what counts when the last is withdrawn: taking a right away never gives another. Deny is the default.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from counterfoil.model.access import Act, GrantRecord, RecordKind, Scope
from counterfoil.model.people import PersonRecord
from counterfoil.rules.authority import roles_of

ADMIN, OPERATOR, AUDITOR = "admin", "operator", "auditor"

# Acts about runs: whoever may do one of them on a workflow sees that its runs are there.
ABOUT_RUNS = frozenset(
    {Act.READ, Act.SUBMIT, Act.ANSWER, Act.WITHDRAW, Act.RESOLVE, Act.LOOKUP, Act.RESUME, Act.RAISE, Act.RETRY}
    | {Act.CANCEL, Act.SIGNAL, Act.TEND, Act.CLOSE_INCIDENT}
)
# The grants of these may be bounded by an amount.
BY_AMOUNT = frozenset({Act.ANSWER, Act.WITHDRAW, Act.RESOLVE})

# What a role without grants may do anywhere, and what only where the thing itself names the role: a review asks it, or it owns.
_ANYWHERE = frozenset(
    {Act.READ, Act.SUBMIT, Act.LOOKUP, Act.SIGNAL, Act.TEND}
    | {Act.SUSPEND_WRITES, Act.RESUME_WRITES, Act.FINISH_RESTORE}
)
_WHERE_NAMED = frozenset(
    {Act.ANSWER, Act.WITHDRAW, Act.RESOLVE, Act.RESUME, Act.RAISE, Act.RETRY, Act.CANCEL, Act.CLOSE_INCIDENT}
)
_BUILT_IN: dict[str, tuple[frozenset[Act], frozenset[Act]]] = {
    ADMIN: (frozenset(Act) - {Act.ANSWER}, frozenset({Act.ANSWER})),
    OPERATOR: (frozenset(Act) - {Act.ANSWER, Act.ADMINISTER}, frozenset({Act.ANSWER})),
    AUDITOR: (frozenset({Act.READ, Act.EXPORT_AUDIT}), frozenset()),
}
"""By role: what it may do anywhere, and what where it is named."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to do, to what. None in `workflow`: to the installation. None in `operation`: to the whole run.

    `kind` belongs to READ; without one it asks only whether the thing may be seen. `roles` are those that the thing names:
    the review's role for ANSWER and WITHDRAW, the owners otherwise.
    """

    act: Act
    workflow: str | None = None
    operation: str | None = None
    kind: RecordKind | None = None
    amount_minor: int | None = None
    currency: str | None = None
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that a held role may do. `named`: only to what names the role. None is any, as in a grant."""

    role: str
    act: Act
    named: bool = False
    workflow: str | None = None
    operation: str | None = None
    kind: RecordKind | None = None
    up_to_minor: int | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person may do now: the roles held, by oneself or as a stand-in, and their lines. A revoked person has neither."""

    roles: frozenset[str]
    lines: tuple[Line, ...]


Place = tuple[str | None, str | None]
"""A workflow and an operation's name; None is any."""


def standing_of(
    person: PersonRecord,
    people: Iterable[PersonRecord],
    grants: Sequence[GrantRecord],
    *,
    named: frozenset[str] = frozenset(),
) -> Standing:
    """`grants`: all of them, the withdrawn too. `named`: roles and owners that the application names.

    A person's own name is a role, too. Without a grant it counts where a thing names it, and as any other role once the
    application names it: who has no role at all may do nothing.
    """
    if person.revoked_at is not None:
        return Standing(frozenset(), ())
    stood_in = [other for other in people if other.name == person.stand_in_for and other.revoked_at is None]
    given, held = set(named), set[str]()
    for each in (person, *stood_in):
        given.update(json.loads(each.roles))
        held |= roles_of(each)
    lines = [line for role in sorted(held) for line in _lines(role, grants, only_named=role not in given)]
    return Standing(frozenset(held), tuple(lines))


def allowed(standing: Standing, wish: Wish) -> bool:
    """Whether a line covers the wish. An answer is given only by who holds the role that the review asks, whatever is granted."""
    if wish.act is Act.ANSWER and not standing.roles & wish.roles:
        return False
    return any(_covers(line, wish) for line in standing.lines)


def in_scope(scope: Scope, wish: Wish) -> bool:
    """Whether a token with this scope may be used for it. A scope that names workflows is good for nothing else."""
    return (
        (scope.verbs is None or wish.act.value in scope.verbs)
        and (scope.workflows is None or wish.workflow in scope.workflows)
        and (scope.operations is None or wish.operation in scope.operations)
    )


def seen(standing: Standing, scope: Scope, *, kind: RecordKind | None = None) -> frozenset[Place]:
    """Where the person sees runs and operations: (workflow, operation); with `kind`, where records of that kind are read.

    Lines that count only for what names a role are not among them.
    """
    places: set[Place] = set()
    for line in standing.lines:
        about = line.act is Act.READ if kind is not None else line.act in ABOUT_RUNS
        if not about or line.named or (scope.verbs is not None and line.act.value not in scope.verbs):
            continue  # a scope without any act sees nothing
        if kind is None or line.kind in (None, kind):
            places.update(_narrowed(line, scope))
    return frozenset(places)


def visible(places: Iterable[Place], workflow: str, operation: str | None) -> bool:
    """Whether one of the places holds this operation, or (None) the whole run."""
    return any(w in (None, workflow) and o in (None, operation) for w, o in places)


def _lines(role: str, grants: Sequence[GrantRecord], *, only_named: bool) -> list[Line]:
    own = [grant for grant in grants if grant.role == role]
    if own:
        return [_granted(grant) for grant in own if grant.withdrawn_at is None]
    if only_named:
        return [Line(role, act, named=True) for act in sorted(_ANYWHERE & ABOUT_RUNS | _WHERE_NAMED)]
    anywhere, where_named = _BUILT_IN.get(role, (_ANYWHERE, _WHERE_NAMED))
    return [Line(role, act) for act in sorted(anywhere)] + [Line(role, act, named=True) for act in sorted(where_named)]


def _granted(grant: GrantRecord) -> Line:
    return Line(
        grant.role, Act(grant.verb), False, grant.workflow, grant.operation,
        None if grant.kind is None else RecordKind(grant.kind), grant.up_to_minor, grant.currency,
    )  # fmt: skip


def _covers(line: Line, wish: Wish) -> bool:
    return (
        line.act is wish.act
        and (not line.named or line.role in wish.roles)
        and line.workflow in (None, wish.workflow)
        and line.operation in (None, wish.operation)
        and (wish.kind is None or line.kind in (None, wish.kind))
        and _within(line, wish)
    )


def _within(line: Line, wish: Wish) -> bool:
    """An amount that is not known, or is in another currency, is within no bound."""
    if line.up_to_minor is None:
        return True
    return wish.amount_minor is not None and line.currency == wish.currency and wish.amount_minor <= line.up_to_minor


def _narrowed(line: Line, scope: Scope) -> Iterable[Place]:
    workflows = _both(line.workflow, scope.workflows)
    operations = _both(line.operation, scope.operations)
    return ((workflow, operation) for workflow in workflows for operation in operations)


def _both(granted: str | None, scoped: frozenset[str] | None) -> Iterable[str | None]:
    if scoped is None:
        return (granted,)
    if granted is None:
        return scoped
    return (granted,) if granted in scoped else ()
