"""The noun `access.grants`: what roles may do."""

from collections.abc import Callable, Sequence
from typing import Any

from counterfoil.app.access.actor import Actor, named
from counterfoil.app.views.access import grant_view
from counterfoil.engine.access import Grant, WithdrawGrant
from counterfoil.engine.opened import Opened
from counterfoil.model import ids
from counterfoil.model.access import Act, GrantRecord, RecordKind
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused
from counterfoil.rules.permissions import ABOUT_RUNS, ADMIN, AUDITOR, BY_AMOUNT, OPERATOR

BUILT_IN = (ADMIN, AUDITOR, OPERATOR)


class Grants:
    """`app.access.grants`. A grant is named by its id or the start of it."""

    def __init__(self, opened: Callable[[], Opened], roles: Callable[[], Sequence[str]]) -> None:
        self._opened = opened
        self._roles = roles

    def list(self) -> dict[str, Any]:
        """`{items: [ROLE], next_cursor: None}`, by name: every role that the application names, somebody holds or was granted to.

        ROLE: {role, built_in, named, people: [name], grants: [GRANT], narrowed}. `narrowed`: a grant was given once, so only
        its grants count; else the role has its built-in meaning. GRANT: see `grant`.
        """
        with self._opened().read() as reader:
            people = [person for person in reader.lists.people() if person.revoked_at is None]
            grants = list(reader.rows(GrantRecord))
        held = {person.name: frozenset[str](parsed(person.roles)) for person in people}
        known = {*self._roles(), *BUILT_IN, *(grant.role for grant in grants)}.union(*held.values())
        items = [
            {
                "role": role, "built_in": role in BUILT_IN, "named": role in self._roles(),
                "people": [name for name, roles in held.items() if role in roles or role == name],
                "grants": [grant_view(grant) for grant in grants if grant.role == role and grant.withdrawn_at is None],
                "narrowed": any(grant.role == role for grant in grants),
            }
            for role in sorted(known)
        ]  # fmt: skip
        return {"items": items, "next_cursor": None}

    async def grant(
        self,
        role: str,
        verb: str,
        *,
        workflow: str | None = None,
        operation: str | None = None,
        kind: str | None = None,
        up_to_minor: int | None = None,
        currency: str | None = None,
        by: Actor | str | None = None,
    ) -> dict[str, Any]:
        """Give a role one right; the same twice is one grant. `up_to_minor` in the currency's smallest unit.

        `{grant_id, role, verb, workflow, operation, kind, up_to: {minor, currency}, granted_by, granted_at, withdrawn_at}`.
        Raises Refused: usage, not_permitted, unknown_person.
        """
        _check(role, verb, workflow, operation, kind, up_to_minor, currency)
        parts = (role, verb, workflow, operation, kind, None if up_to_minor is None else str(up_to_minor), currency)
        grant_id = ids.derived("gra", *(f"={part}" if part is not None else "" for part in parts))
        opened, person = self._opened(), named(by)
        asked = GrantRecord(
            grant_id, role, verb, workflow, operation, kind, up_to_minor, currency, person or "", 0, None
        )
        granted: GrantRecord = await opened.write(Grant(opened.installation_id, asked, person))
        return grant_view(granted)

    async def withdraw(self, grant: str, *, by: Actor | str | None = None) -> dict[str, Any]:
        """Take a right back. The role does not get its built-in meaning back. Gives the grant. Raises Refused(not_found)."""
        opened = self._opened()
        with opened.read() as reader:
            known = [row.grant_id for row in reader.rows(GrantRecord)]
        grant_id = one_of(known, "grant", grant)
        withdrawn: GrantRecord = await opened.write(WithdrawGrant(opened.installation_id, grant_id, named(by)))
        return grant_view(withdrawn)


def one_of(known: Sequence[str], what: str, text: str) -> str:
    """The one id that is this text or begins with it. Raises Refused(not_found, ambiguous_id)."""
    found = [text] if text in known else [each for each in known if text and each.startswith(text)]
    if not found:
        raise Refused("not_found", what=what, id=text)
    if len(found) > 1:
        raise Refused("ambiguous_id", what=what, id=text)
    return found[0]


def _check(
    role: str,
    verb: str,
    workflow: str | None,
    operation: str | None,
    kind: str | None,
    up_to_minor: int | None,
    currency: str | None,
) -> None:
    if not role.strip() or role != role.strip():
        raise Refused("usage", problem="a role has a name without spaces around it")
    act = known_act(verb)
    if kind is not None and (act is not Act.READ or kind not in {each.value for each in RecordKind}):
        raise Refused("usage", problem=f"a kind belongs to read; there are {', '.join(RecordKind)}")
    if (workflow or operation) and act not in ABOUT_RUNS:
        raise Refused("usage", problem=f"{verb} is about the installation, not about a workflow or an operation")
    if (up_to_minor is None) is not (currency is None):
        raise Refused("usage", problem="an amount and its currency go together")
    if up_to_minor is not None and (act not in BY_AMOUNT or up_to_minor < 0):
        raise Refused("usage", problem=f"an amount from 0 on bounds {', '.join(sorted(BY_AMOUNT))}")


def known_act(verb: str) -> Act:
    """Raises Refused(usage), which lists the verbs."""
    if verb not in {act.value for act in Act}:
        raise Refused("usage", problem=f"there is no verb {verb!r}; there are {', '.join(Act)}")
    return Act(verb)
