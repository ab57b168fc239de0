"""Who may do what, as tables: every role by every act, every part of a grant, stand-ins, scopes, and what is seen."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from counterfoil.model.access import WHOLE, Act, GrantRecord, RecordKind, Scope
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.budget import Scope as BudgetScope
from counterfoil.model.people import PersonRecord
from counterfoil.rules.permissions import ABOUT_RUNS, Standing, Wish, allowed, in_scope, seen, standing_of, visible
from counterfoil.rules.wishes import about_budget, about_installation, about_operation, about_review, about_run
from counterfoil.testing.conformance.samples import operation_of, review_of, run_named

ANA = PersonRecord("ana", "[]", "", None, 0, None)
GRANT = GrantRecord("gra_1", "clerk", "resolve", None, None, None, None, None, "root", 0, None)


def person(*roles: str, name: str = "ana", **columns: Any) -> PersonRecord:
    listed = ",".join(f'"{role}"' for role in roles)
    return replace(ANA, name=name, roles=f"[{listed}]", **columns)


def grant(verb: str, role: str = "clerk", **columns: Any) -> GrantRecord:
    return replace(GRANT, role=role, verb=verb, **columns)


# Y: anywhere. o: only where the thing names the role. -: never. Columns: a role of the application's own, a person's own
# name, and the three roles that are built in.
TABLE = """
                  plain  name  admin  operator  auditor
read              Y      o     Y      Y         Y
submit            Y      -     Y      Y         -
answer            o      o     o      o         -
withdraw          o      o     Y      Y         -
resolve           o      o     Y      Y         -
lookup            Y      o     Y      Y         -
resume            o      o     Y      Y         -
raise             o      o     Y      Y         -
retry             o      o     Y      Y         -
cancel            o      o     Y      Y         -
signal            Y      o     Y      Y         -
tend              Y      o     Y      Y         -
suspend_writes    Y      -     Y      Y         -
resume_writes     Y      -     Y      Y         -
close_incident    o      o     Y      Y         -
finish_restore    Y      -     Y      Y         -
import_statement  -      -     Y      Y         -
export_audit      -      -     Y      Y         Y
administer        -      -     Y      -         -
"""
HELD = {"plain": ("clerk", person("clerk")), "name": ("ana", person())} | {
    role: (role, person(role)) for role in ("admin", "operator", "auditor")
}


def cells() -> dict[tuple[str, Act], str]:
    header, *rows = [line.split() for line in TABLE.strip().splitlines()]
    return {(column, Act(row[0])): cell for row in rows for column, cell in zip(header, row[1:], strict=True)}


def test_the_table_names_every_act() -> None:
    assert set(cells()) == set(product(HELD, Act))


@pytest.mark.parametrize(("column", "act"), list(cells()))
def test_a_role_without_grants_has_its_built_in_meaning(column: str, act: Act) -> None:
    role, who = HELD[column]
    standing = standing_of(who, [who], [])
    # A thing that belongs to no run names no role.
    asked = Wish(act, "pay", roles=frozenset({role, "another"})) if act in ABOUT_RUNS - {Act.SUBMIT} else Wish(act)
    elsewhere = replace(asked, roles=frozenset({"another"}))
    cell = cells()[column, act]
    assert allowed(standing, asked) is (cell in "Yo")
    assert allowed(standing, elsewhere) is (cell == "Y")


def test_who_has_no_role_may_nothing_and_a_name_counts_once_the_application_names_it() -> None:
    nobody = standing_of(person(), [], [])
    assert not any(allowed(nobody, Wish(act, "pay", roles=frozenset({"clerk"}))) for act in Act)
    named = standing_of(person(), [], [], named=frozenset({"ana"}))
    assert allowed(named, Wish(Act.READ, "pay"))
    assert allowed(named, Wish(Act.SUBMIT, "pay"))
    assert not allowed(named, Wish(Act.RESOLVE, "pay"))


def test_a_name_like_a_built_in_role_gives_nothing_and_the_role_itself_does() -> None:
    assert not allowed(standing_of(person(name="admin"), [], []), Wish(Act.ADMINISTER))
    assert allowed(standing_of(person("admin", name="admin"), [], []), Wish(Act.ADMINISTER))


def test_a_revoked_person_may_nothing() -> None:
    gone = person("admin", revoked_at=1)
    assert standing_of(gone, [gone], [grant("administer", "admin")]) == Standing(frozenset(), ())


# ---------------------------------------------------------------------- grants

WISH = Wish(Act.RESOLVE, "pay", "transfer", None, 500, "EUR", frozenset({"ops"}))
FITS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"verb": "answer"}, False),
    ({"withdrawn_at": 1}, False),
    ({"workflow": "pay"}, True),
    ({"workflow": "hire"}, False),
    ({"operation": "transfer"}, True),
    ({"operation": "refund"}, False),
    ({"up_to_minor": 500, "currency": "EUR"}, True),
    ({"up_to_minor": 499, "currency": "EUR"}, False),
    ({"up_to_minor": 500, "currency": "USD"}, False),
]


@pytest.mark.parametrize(("columns", "fits"), FITS)
def test_each_part_of_a_grant(columns: dict[str, Any], fits: bool) -> None:
    granted = [replace(GRANT, **columns)]
    assert allowed(standing_of(person("clerk"), [], granted), WISH) is fits


def test_an_amount_that_is_not_known_is_within_no_bound() -> None:
    bounded = [grant("resolve", up_to_minor=10**9, currency="EUR")]
    unknown = replace(WISH, amount_minor=None, currency=None)
    assert not allowed(standing_of(person("clerk"), [], bounded), unknown)
    assert allowed(standing_of(person("clerk"), [], [grant("resolve")]), unknown)


def test_a_narrow_grant_does_not_reach_a_whole_run_or_the_installation() -> None:
    narrow = standing_of(person("clerk"), [], [grant("cancel", operation="transfer"), grant("tend", workflow="pay")])
    assert not allowed(narrow, Wish(Act.CANCEL, "pay"))
    assert not allowed(narrow, Wish(Act.TEND))
    assert allowed(narrow, Wish(Act.TEND, "pay"))


def test_once_a_role_has_grants_only_they_count_also_when_the_last_is_withdrawn() -> None:
    owned = Wish(Act.RESOLVE, "pay", roles=frozenset({"clerk"}))
    assert allowed(standing_of(person("clerk"), [], []), owned)
    assert not allowed(standing_of(person("clerk"), [], [grant("read")]), owned)
    assert not allowed(standing_of(person("clerk"), [], [grant("resolve", withdrawn_at=1)]), owned)
    assert not allowed(standing_of(person("admin"), [], [grant("read", "admin")]), Wish(Act.ADMINISTER))
    assert allowed(standing_of(person("clerk"), [], [grant("read", "another")]), owned)


def test_an_answer_takes_the_role_that_is_asked_and_the_right_to_answer() -> None:
    asked = Wish(Act.ANSWER, "pay", "transfer", None, 5000, "EUR", frozenset({"clerk"}))
    any_amount, little = grant("answer", "director"), grant("answer", up_to_minor=1000, currency="EUR")
    assert not allowed(standing_of(person("director"), [], [any_amount]), asked)
    assert not allowed(standing_of(person("clerk"), [], [little]), asked)
    assert allowed(standing_of(person("clerk"), [], [little]), replace(asked, amount_minor=1000))
    assert allowed(standing_of(person("clerk", "director"), [], [little, any_amount]), asked)


def test_a_right_may_be_given_to_one_person_by_name() -> None:
    granted = [grant("administer", "ana")]
    assert allowed(standing_of(person(), [], granted), Wish(Act.ADMINISTER))
    assert not allowed(standing_of(person(name="eve"), [], granted), Wish(Act.ADMINISTER))


def test_kinds_of_records_are_granted_apart() -> None:
    receipts = standing_of(person("clerk"), [], [grant("read", kind="receipts")])
    anything = standing_of(person("clerk"), [], [grant("read")])
    for kind in RecordKind:
        assert allowed(receipts, Wish(Act.READ, "pay", kind=kind)) is (kind is RecordKind.RECEIPTS)
        assert allowed(anything, Wish(Act.READ, "pay", kind=kind))
    assert allowed(receipts, Wish(Act.READ, "pay"))


# ---------------------------------------------------------------------- stand-ins


def test_a_stand_in_holds_the_roles_and_the_grants_of_the_one_stood_in_for() -> None:
    away = person("clerk", name="bob")
    stand_in = person(stand_in_for="bob")
    people = [stand_in, away, person("admin", name="eve")]
    by_name = Wish(Act.RESOLVE, "pay", roles=frozenset({"bob"}))
    assert allowed(standing_of(stand_in, people, []), Wish(Act.RESOLVE, "pay", roles=frozenset({"clerk"})))
    assert allowed(standing_of(stand_in, people, []), by_name)
    assert not allowed(standing_of(stand_in, people, []), Wish(Act.ADMINISTER))
    bounded = [grant("resolve", up_to_minor=10, currency="EUR"), grant("read", "bob")]
    assert not allowed(standing_of(stand_in, people, bounded), by_name)


def test_nobody_stands_in_for_who_was_revoked_and_not_for_whom_a_stand_in_stands_in() -> None:
    asked = Wish(Act.RESOLVE, "pay", roles=frozenset({"clerk"}))
    stand_in, away = person(stand_in_for="bob"), person(name="bob", stand_in_for="cyd")
    people = [stand_in, away, person("clerk", name="cyd")]
    assert not allowed(standing_of(stand_in, people, []), asked)
    gone = [stand_in, person("clerk", name="bob", revoked_at=1)]
    assert not allowed(standing_of(stand_in, gone, []), asked)


# ---------------------------------------------------------------------- scopes

PARTS = {"verbs": ("resolve", "answer"), "workflows": ("pay", "hire"), "operations": ("transfer", "refund")}


@pytest.mark.parametrize("narrowed", list(product((0, 1, 2), repeat=3)))
def test_a_scope_is_good_for_what_it_names_and_for_nothing_else(narrowed: tuple[int, int, int]) -> None:
    """0: any; 1: what the wish is about; 2: another. In scope when no part is another."""
    parts = zip(PARTS.values(), narrowed, strict=True)
    scope = Scope(*(None if how == 0 else frozenset({names[how - 1]}) for names, how in parts))
    assert in_scope(scope, WISH) is (2 not in narrowed)


def test_a_scope_with_workflows_or_operations_is_not_good_for_the_installation() -> None:
    assert in_scope(WHOLE, Wish(Act.SUSPEND_WRITES))
    assert not in_scope(Scope(workflows=frozenset({"pay"})), Wish(Act.SUSPEND_WRITES))
    assert not in_scope(Scope(operations=frozenset({"transfer"})), Wish(Act.CANCEL, "pay"))


# ---------------------------------------------------------------------- what is seen

PLACES: list[tuple[list[GrantRecord], Scope, set[tuple[str | None, str | None]]]] = [
    ([grant("read")], WHOLE, {(None, None)}),
    ([grant("submit", workflow="pay")], WHOLE, {("pay", None)}),
    ([grant("administer"), grant("suspend_writes")], WHOLE, set()),
    ([grant("answer", operation="transfer")], WHOLE, {(None, "transfer")}),
    ([grant("read", workflow="pay"), grant("read", workflow="hire")], WHOLE, {("pay", None), ("hire", None)}),
    ([grant("read")], Scope(workflows=frozenset({"pay"})), {("pay", None)}),
    ([grant("read", workflow="hire")], Scope(workflows=frozenset({"pay"})), set()),
    ([grant("read", workflow="pay")], Scope(workflows=frozenset({"pay", "hire"})), {("pay", None)}),
    ([grant("read")], Scope(operations=frozenset({"transfer"})), {(None, "transfer")}),
    ([grant("read"), grant("submit", workflow="pay")], Scope(verbs=frozenset({"submit"})), {("pay", None)}),
    ([grant("read", withdrawn_at=1)], WHOLE, set()),
]


@pytest.mark.parametrize(("grants", "scope", "places"), PLACES)
def test_where_runs_and_operations_are_seen(
    grants: list[GrantRecord], scope: Scope, places: set[tuple[str | None, str | None]]
) -> None:
    assert seen(standing_of(person("clerk"), [], grants), scope) == places


def test_records_are_seen_by_kind_and_only_by_a_right_to_read() -> None:
    grants = [grant("read", kind="receipts"), grant("resolve"), grant("read", workflow="pay")]
    standing = standing_of(person("clerk"), [], grants)
    assert seen(standing, WHOLE, kind=RecordKind.RECEIPTS) == {(None, None), ("pay", None)}
    assert seen(standing, WHOLE, kind=RecordKind.PAYLOADS) == {("pay", None)}


def test_a_role_that_counts_only_where_it_is_named_sees_no_lists() -> None:
    assert seen(standing_of(person(), [], []), WHOLE) == frozenset()
    assert seen(standing_of(person("clerk"), [], []), WHOLE) == {(None, None)}


@pytest.mark.parametrize(
    ("place", "operation", "held"),
    [
        ((None, None), "transfer", True),
        ((None, None), None, True),
        (("pay", None), "transfer", True),
        (("hire", None), "transfer", False),
        ((None, "transfer"), "transfer", True),
        ((None, "transfer"), None, False),
        ((None, "refund"), "transfer", False),
    ],
)
def test_what_a_place_holds(place: tuple[str | None, str | None], operation: str | None, held: bool) -> None:
    assert visible({place}, "pay", operation) is held
    assert not visible((), "pay", operation)


# ---------------------------------------------------------------------- what rows ask for

OWNED = '{"owner":{"name":"lead","within_us":1,"then":"head"}}'
RUN = replace(run_named("run_1", 1), workflow="pay", owner="ops", owner_then=None, budget=OWNED)
OPERATION = replace(
    operation_of("run_1", "op_1", 1), name="transfer", owner="bank-desk", amount_minor=500, currency="EUR"
)
REVIEW = replace(review_of(OPERATION, "rev_1", 1), role="approver")


def test_what_a_run_an_operation_and_a_review_ask_for() -> None:
    assert about_run(Act.CANCEL, RUN) == Wish(Act.CANCEL, "pay", roles=frozenset({"ops", "lead", "head"}))
    read = about_run(Act.READ, RUN, kind=RecordKind.DECISIONS)
    assert (read.kind, read.operation) == (RecordKind.DECISIONS, None)
    owners = frozenset({"bank-desk", "ops"})
    assert about_operation(Act.RESOLVE, OPERATION, RUN) == Wish(
        Act.RESOLVE, "pay", "transfer", None, 500, "EUR", owners
    )
    assert about_review(Act.ANSWER, REVIEW, OPERATION, RUN).roles == {"approver"}
    assert about_installation(Act.ADMINISTER) == Wish(Act.ADMINISTER)


@pytest.mark.parametrize(("scope", "workflow"), [(BudgetScope.WORKFLOW, "pay"), (BudgetScope.BUSINESS_DAY, None)])
def test_what_a_shared_budget_asks_for(scope: BudgetScope, workflow: str | None) -> None:
    owner = '{"name":"ops","within_us":1,"then":"head"}'
    budget = BudgetRecord("bud_1", 1, "all pays", scope, "pay", owner, "{}", "{}", "{}", "{}", 0, 1)
    assert about_budget(Act.RAISE, budget) == Wish(Act.RAISE, workflow, roles=frozenset({"ops", "head"}))


def test_a_scope_of_no_act_sees_nothing() -> None:
    who = person("admin")
    standing = standing_of(who, [who], [])
    assert seen(standing, WHOLE) == {(None, None)}
    for nothing in (Scope(verbs=frozenset()), Scope(workflows=frozenset()), Scope(operations=frozenset())):
        assert seen(standing, nothing) == frozenset()
        assert not any(in_scope(nothing, Wish(act, "pay", "book")) for act in Act)
