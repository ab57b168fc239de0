"""What is shown to have changed since an approval, from facts in the database only."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.views.approval import changes_since
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.shown import Shown
from counterfoil.engine.administration import RevokePerson, begin_restore
from tests.unit.opened_ledger import HOUR, START, Filled, SetClock, opened
from tests.unit.view_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Bench(Filled(here, clock))


def changes(bench: Bench) -> dict[str, tuple[Any, Any]]:
    return {change["what"]: (change["approved"], change["now"]) for change in bench.run()["changed_since_approval"]}


def test_nothing_changed_right_after_an_approval(bench: Bench) -> None:
    bench.approve()
    assert changes(bench) == {}


def test_a_revoked_reviewer_shows(bench: Bench) -> None:
    bench.approve()
    bench.filled.ask(RevokePerson(bench.filled.opened.installation_id, "ana"))
    assert changes(bench) == {"reviewer of op-1": ("ana", f"revoked at {rfc3339(START)}")}


def test_an_approval_that_ran_out_shows(bench: Bench) -> None:
    bench.approve()
    bench.filled.clock.now += 9 * HOUR
    assert changes(bench) == {"approval of op-1": (f"valid until {rfc3339(START + 8 * HOUR)}", "expired")}


def test_a_restore_shows(bench: Bench) -> None:
    bench.approve()
    with bench.filled.opened.read() as reader:
        verb = begin_restore(reader, "behind")
    bench.filled.ask(verb)
    assert changes(bench) == {"approval of op-1": ("valid", "restored")}


def test_another_version_and_another_contract_show(bench: Bench) -> None:
    bench.approve()
    bench.filled.in_flight()
    with bench.filled.opened.read() as reader:
        shown = Shown.of(bench.filled.opened, reader)
        entries = reader.entries(bench.filled.run_id)
    operation = replace(
        bench.filled.operation(), contract_digest="sha256:other", proposal_version=2, payload_digest="sha256:p"
    )
    found = changes_since(shown, operation, bench.filled.reviews(), entries)
    assert {change["what"]: change["now"] for change in found} == {
        "proposal_version of op-1": 2,
        "digest of op-1": "sha256:p",
        "contract of op-1": "sha256:other",
    }


def test_a_closed_operation_has_nothing_left_to_authorise(bench: Bench) -> None:
    bench.approve()
    bench.filled.answered(bench.filled.in_flight())
    bench.filled.ask(RevokePerson(bench.filled.opened.installation_id, "ana"))
    assert changes(bench) == {}
    assert bench.operation()["next_action"]["code"] == "none"
    assert bench.operation()["attempts"][0]["answer"] == {"status": 201, "class": "applied"}
