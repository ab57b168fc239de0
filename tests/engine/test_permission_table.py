"""Every role by every act, through the desk: what is done, what is refused, and that a refused act leaves nothing behind."""

from pathlib import Path

import pytest

from counterfoil.app.access import Actor
from counterfoil.model.access import Act
from counterfoil.rules.permissions import ABOUT_RUNS
from tests.engine.desk_stage import REFUSALS, Stage, outcome, stage

# Y: done. p: not_permitted. n: as if it were not there. s: no longer signed in.
# approver is whom the review asks, ops owns the run and the operation, clerk is a role that nothing names. granted: a role
# that was granted this very act (and is asked, for answer). elsewhere: a role that was granted everything, on another
# workflow. token: an administrator's, in scope; verb, workflow: the same, out of scope by its verbs, by its workflows.
TABLE = """
                  admin operator auditor approver ops clerk nobody granted elsewhere revoked token verb workflow
read              Y     Y        Y       Y        Y   Y     n      Y       n         s       Y     p    n
submit            Y     Y        p       Y        Y   Y     n      Y       n         s       Y     p    n
answer            p     p        p       Y        p   p     n      Y       n         s       Y     p    n
withdraw          Y     Y        p       Y        p   p     n      Y       n         s       Y     p    n
resolve           Y     Y        p       p        Y   p     n      Y       n         s       Y     p    n
lookup            Y     Y        p       Y        Y   Y     n      Y       n         s       Y     p    n
resume            Y     Y        p       p        Y   p     n      Y       n         s       Y     p    n
raise             Y     Y        p       p        Y   p     n      Y       n         s       Y     p    n
retry             Y     Y        p       p        Y   p     n      Y       n         s       Y     p    n
cancel            Y     Y        p       p        Y   p     n      Y       n         s       Y     p    n
signal            Y     Y        p       Y        Y   Y     n      Y       n         s       Y     p    n
tend              Y     Y        p       Y        Y   Y     n      Y       n         s       Y     p    n
close_incident    Y     Y        p       p        Y   p     n      Y       n         s       Y     p    n
suspend_writes    Y     Y        p       Y        Y   Y     p      Y       p         s       Y     p    p
resume_writes     Y     Y        p       Y        Y   Y     p      Y       p         s       Y     p    p
finish_restore    Y     Y        p       Y        Y   Y     p      Y       p         s       Y     p    p
export_audit      Y     Y        Y       p        p   p     p      Y       p         s       Y     p    p
import_statement  Y     Y        p       p        p   p     p      Y       p         s       Y     p    p
administer        Y     p        p       p        p   p     p      Y       p         s       Y     p    p
"""
CODES = {"p": {"not_permitted"}, "n": {"not_found", "unknown_workflow"}, "s": {"session_over"}}
HELD = {role: (role,) for role in ("admin", "operator", "auditor", "approver", "ops", "clerk")} | {"nobody": ()}
READING = frozenset({Act.READ, Act.EXPORT_AUDIT, Act.LOOKUP})


def cells() -> list[tuple[str, Act, str]]:
    header, *rows = [line.split() for line in TABLE.strip().splitlines()]
    return [(name, Act(row[0]), cell) for row in rows for name, cell in zip(header, row[1:], strict=True)]


def actor(on: Stage, column: str, act: Act) -> Actor:
    """Somebody as the column says."""
    about_run = act in ABOUT_RUNS
    if column in HELD:
        return on.person("pat", *HELD[column])
    if column == "granted":
        on.grant("narrow", act.value, **({"workflow": "refund"} if about_run else {}))
        on.grant("approver", "tend", workflow="hire")  # so that approver itself gives nothing here
        return on.person("pat", "narrow", "approver")
    if column == "elsewhere":
        for every in ABOUT_RUNS:
            on.grant("narrow", every.value, workflow="hire")
        return on.person("pat", "narrow")
    person = on.person("pat", "admin", "approver")
    if column == "revoked":
        return person
    scope = {
        "token": {"verbs": [act.value]} | ({"workflows": ["refund"]} if about_run else {}),
        "verb": {"verbs": ["tend" if act is not Act.TEND else "signal"]},
        "workflow": {"workflows": ["hire"]},
    }[column]
    return on.token("pat", **scope)


def test_the_table_names_every_act() -> None:
    assert {act for _, act, _ in cells()} == set(Act)


@pytest.mark.parametrize(("column", "act", "cell"), cells())
def test_each_cell(tmp_path: Path, column: str, act: Act, cell: str) -> None:
    with stage(tmp_path) as on:
        doing = on.doing(act)
        who = actor(on, column, act)
        if column == "revoked":
            on.revoke("pat")
        desk, before = on.app.desk(who), on.written()
        code = outcome(lambda: doing(desk))
        if cell == "Y":
            assert code == "done"
            assert act in READING or on.written() != before
        else:
            assert code in CODES[cell]
            assert code in REFUSALS
            assert on.written() == before
