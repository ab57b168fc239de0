"""Traps of keys: what is saved under them, how wide and how long they reach. What the receiver holds decides."""

from datetime import timedelta

from tests.traps.stage import Build

SOON = {"request_timeout": timedelta(milliseconds=500)}  # a hanging request costs the test so long


def trap_01_a_saved_500_poisons_the_key(stage: Build) -> None:
    """The effect is there and the key can only ever answer 500: the receiver is asked, never repeated."""
    stripe = stage("stripe_v1")
    stripe.faults.arm("error-after-accept")
    assert stripe.told() == ["completed"]
    assert len(stripe.held()) == 1 and len(stripe.requests()) == 1
    assert stripe.operation().status.value == "succeeded" and stripe.receipts()[0].how == "lookup"

    blind = stage("zuora", asks=None)
    blind.faults.arm("error-after-accept")
    assert blind.told() == ["outcome_unknown"]
    assert len(blind.held()) == 1 and len(blind.requests()) == 1


def trap_02_a_success_only_cache_does_not_protect_an_error(stage: Build) -> None:
    """After a 5xx the same key acts again, so it is not used again; after a lost reply it is, and nothing doubles."""
    checkout = stage("checkout_com")
    checkout.faults.arm("error-after-accept")
    assert checkout.told() == ["completed"]
    assert len(checkout.held()) == 1 and len(checkout.requests()) == 1

    lost = stage("checkout_com", asks=None)
    lost.faults.arm("drop-reply")
    assert lost.told() == ["completed"]
    assert len(lost.held()) == 1 and len(lost.requests()) == 2


def trap_03_one_vendor_has_opposite_contracts(stage: Build) -> None:
    """The same error under the same vendor: version 2 drives the work on under the key, version 1 must be asked."""
    second = stage("stripe_v2", asks=None)
    second.faults.arm("error-after-accept")
    assert second.told() == ["completed"]
    assert len(second.held()) == 1 and len(second.requests()) == 2

    first = stage("stripe_v1", asks=None)
    first.faults.arm("error-after-accept")
    assert first.told() == ["outcome_unknown"]
    assert len(first.held()) == 1 and len(first.requests()) == 1


def trap_04_a_key_reaches_no_further_than_its_credential(stage: Build) -> None:
    """The credential was rotated: under the new one the same key would act again, so it is not used."""
    treasury = stage("modern_treasury", asks=None)
    treasury.faults.arm("drop-reply")
    assert treasury.told(within=0) == ["waiting"]
    treasury.monkeypatch.setenv("TRAP_TOKEN", "second")
    assert treasury.told() == ["outcome_unknown"]
    assert len(treasury.held()) == 1 and len(treasury.requests()) == 1

    same = stage("modern_treasury", asks=None)
    same.faults.arm("drop-reply")
    assert same.told(within=0) == ["waiting"]
    assert same.told() == ["completed"]
    assert len(same.held()) == 1 and len(same.requests()) == 2


def trap_05_a_key_reaches_beyond_its_endpoint(stage: Build) -> None:
    """The receiver answers a key with the first route's body on any route: each operation has a key of its own."""
    paths = {"_first": "/parties", "_second": "/orders"}
    wide = stage("modern_treasury", paths=paths, sandbox={"key_scope": frozenset({"credential"})}, repeatable=True)
    assert wide.told() == ["completed"]
    assert [request["path"] for request in wide.requests()] == ["/parties", "/orders"]
    assert len({request["key"] for request in wide.requests()}) == 2 and len(wide.held()) == 2


def trap_06_parameters_are_part_of_the_identity(stage: Build) -> None:
    """The same key with another amount moves money again: after a change of the bytes nothing is repeated."""
    plaid = stage("plaid_bank_transfer", asks=None)
    assert plaid.kept.other_body == "part_of_identity" and plaid.kept.key_body == "idempotency_key"
    plaid.faults.arm("drop-reply")
    assert plaid.told(within=0) == ["waiting"]
    # A deployment that writes other bytes.
    plaid.restart(lambda app: plaid.register(app, {"": "/other/cases"}, repeatable=False))
    assert plaid.told() == ["outcome_unknown"]
    assert len(plaid.held()) == 1 and len(plaid.requests()) == 1

    same = stage("plaid_bank_transfer", asks=None)
    same.faults.arm("drop-reply")
    assert same.told() == ["completed"]
    assert len(same.held()) == 1 and len(same.requests()) == 2


def trap_07_windows_are_counted_from_different_moments(stage: Build) -> None:
    """Counted from the first send unless the answers prove a later start: no receiver counts from an earlier one."""
    ends = stage("restate_ingress", asks=None)
    assert ends.kept.window_from == "completion" and ends.contract.key is not None
    ends.faults.arm("drop-reply")
    assert ends.told(within=0) == ["waiting"]
    ends.advance(20 * 3600)  # inside, by either clock
    assert ends.told() == ["completed"]
    assert len(ends.held()) == 1 and len(ends.requests()) == 2

    late = stage("restate_ingress", asks=None)
    late.faults.arm("drop-reply")
    assert late.told(within=0) == ["waiting"]
    late.advance(23.5 * 3600)  # the receiver may still know it, if it began to count later; nobody told us so
    assert late.told() == ["outcome_unknown"]
    assert len(late.held()) == 1 and len(late.requests()) == 1


def trap_08_after_its_window_a_key_is_a_new_effect(stage: Build) -> None:
    """The client refuses by itself; only where the receiver refuses as well is a late repeat harmless."""
    zuora = stage("zuora", asks=None)
    zuora.faults.arm("drop-reply")
    assert zuora.told(within=0) == ["waiting"]
    zuora.advance(25 * 3600)
    assert zuora.told() == ["outcome_unknown"]
    assert len(zuora.held()) == 1 and len(zuora.requests()) == 1

    closed = stage("azure_acs_email", asks=None)
    closed.faults.arm("drop-reply")
    assert closed.told(within=0) == ["waiting"]
    closed.advance(3600)
    assert closed.told() == ["outcome_unknown"]  # 412 speaks for the repeat alone
    assert [request["status"] for request in closed.requests()] == [201, 412] and len(closed.held()) == 1


def trap_09_a_workflow_id_lets_go_when_its_run_closes(stage: Build) -> None:
    """Nobody knows how long the run lasts, so the id is never a reason to repeat: it is looked up."""
    temporal = stage("temporal_start_workflow", overrides={"key.account_retention": timedelta(seconds=1)})
    temporal.faults.arm("drop-reply")
    assert temporal.told(within=0) == ["completed"]
    assert len(temporal.held()) == 1 and len(temporal.requests()) == 1
    assert temporal.receipts()[0].how == "lookup"


def trap_10_a_lock_lets_go_while_the_first_request_still_runs(stage: Build) -> None:
    """A repeat after a minute would run beside the first one: it is not made."""
    rray = stage("rray_email", asks=None, overrides=SOON, sandbox={"late_arrival_seconds": 90.0})
    assert rray.kept.lock_timeout_seconds == 60
    rray.faults.arm("hang")
    assert rray.told(within=0) == ["waiting"]
    rray.advance(70)  # the receiver has let go of its lock, and the first request lands in 20 seconds
    assert rray.told() == ["outcome_unknown"]
    rray.advance(60)
    assert len(rray.held()) == 1 and len(rray.requests()) == 1

    kept = stage("rray_email", asks=None, overrides={"key.lock_timeout": "6 hours"})
    kept.faults.arm("drop-reply")
    assert kept.told() == ["completed"]
    assert len(kept.held()) == 1 and len(kept.requests()) == 2


def trap_11_two_at_once_conflict_wait_or_both_fail(stage: Build) -> None:
    """A repeat that meets the first one is told to wait, or is not begun before the first can no longer run."""
    zuora = stage("zuora", asks=None)
    zuora.faults.arm("late", seconds=6)  # answered 202, and at work for six seconds
    assert zuora.told() == ["completed"]
    statuses = [request["status"] for request in zuora.requests()]
    assert statuses[0] == 202 and 409 in statuses and len(zuora.held()) == 1

    both = stage(
        "zuora",
        asks=None,
        overrides={**SOON, "key.in_progress": "both_may_fail"},
        sandbox={"in_progress": "refuses", "late_arrival_seconds": 90.0},
    )
    both.faults.arm("hang")
    assert both.told() == ["completed"]
    assert len(both.held()) == 1 and 422 not in [request["status"] for request in both.requests()]
