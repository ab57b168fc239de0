"""A run's time as bars: exact where the journal has both ends, marked where it does not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.evidence import Evidence
from counterfoil.app.views.timeline import MOST_BARS
from counterfoil.engine.decisions import AcceptDecision, AskModel
from counterfoil.engine.leases import Claim
from counterfoil.engine.steps import CountTry, EndStep
from counterfoil.model.journal import EntryKind
from tests.unit.opened_ledger import HOUR, SECOND, START, Filled, SetClock, opened
from tests.unit.view_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Bench(Filled(here, clock))


def lanes(bench: Bench, **window: int) -> dict[str, list[dict[str, Any]]]:
    shown = Evidence(lambda: bench.filled.opened).timeline(bench.filled.run_id, **window)
    return {lane["name"]: lane["bars"] for lane in shown["lanes"]}


def spans(bars: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(bar["kind"], bar["begins_us"] - START, bar["ends_us"] - START) for bar in bars]


def step(bench: Bench, position: str, kind: EntryKind = EntryKind.STEP) -> None:
    filled = bench.filled
    filled.ask(
        EndStep(filled.run_id, filled.fence, position, f"s{position}", {"in": "x"}, filled.opened.deadlines, kind)
    )


def test_waiting_and_running_take_turns_without_a_gap(bench: Bench) -> None:
    filled = bench.filled.submitted()
    filled.clock.now += 2 * SECOND
    filled.claimed().prepared()
    filled.clock.now += 3 * SECOND
    bench.wait("review", filled.asked().review_id)
    filled.clock.now += 5 * SECOND
    shown = lanes(bench)
    assert spans(shown["waiting"]) == [("pending", 0, 2 * SECOND), ("waiting", 5 * SECOND, 10 * SECOND)]
    assert spans(shown["running"]) == [("running", 2 * SECOND, 5 * SECOND)]
    assert [bar["open"] for bar in shown["waiting"]] == [False, True]
    assert shown["waiting"][1]["label"] == "waits: review"


def test_a_crash_is_a_bar_from_the_last_entry_to_the_takeover(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    filled.clock.now += SECOND
    step(bench, "1")
    filled.clock.now += HOUR
    filled.ask(Claim(filled.run_id, "wrk_2", filled.opened.deadlines))
    filled.clock.now += SECOND
    assert spans(lanes(bench)["running"]) == [
        ("running", 0, SECOND), ("crashed", SECOND, SECOND + HOUR), ("running", SECOND + HOUR, 2 * SECOND + HOUR),
    ]  # fmt: skip
    crashed = lanes(bench)["running"][1]
    assert crashed["about"] and "wrk_1 was lost" in crashed["label"] and "wrk_2 took over" in crashed["detail"]


def test_a_step_begins_at_the_entry_before_it_and_never_before_its_worker(bench: Bench) -> None:
    filled = bench.filled.submitted()
    filled.clock.now += 4 * SECOND
    filled.claimed()
    filled.clock.now += SECOND
    step(bench, "1")
    filled.clock.now += SECOND
    filled.ask(
        CountTry(filled.run_id, filled.fence, "2", "s2", {"in": "x", "n": 1, "problem": "no"}, filled.opened.deadlines)
    )
    filled.clock.now += SECOND
    step(bench, "2.0.1")  # in a branch of its own: not before the call that opened it
    bars = lanes(bench)["steps"]
    assert spans(bars) == [
        ("done", 4 * SECOND, 5 * SECOND), ("failed", 5 * SECOND, 6 * SECOND), ("done", 6 * SECOND, 7 * SECOND),
    ]  # fmt: skip
    assert bars[1]["detail"] == "no" and all(bar["about"] for bar in bars)


def test_a_decision_has_its_cost_and_a_lost_one_says_so(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    deadlines = filled.opened.deadlines
    facts = {"in": "x", "n": 1, "model": "m-1", "prompt_version": "7"}
    filled.ask(AskModel(filled.run_id, filled.fence, "1", "decide clerk", facts, 0, deadlines))
    filled.clock.now += 2 * SECOND
    usage = {"input_tokens": 5, "output_tokens": 6}
    accepted = {"in": "x", "output": 1, "usage": usage, "cost_micros": 1907}
    filled.ask(AcceptDecision(filled.run_id, filled.fence, "1", "decide clerk", accepted, 0, deadlines))
    filled.ask(AskModel(filled.run_id, filled.fence, "2", "decide clerk", facts, 0, deadlines))
    filled.clock.now += HOUR
    filled.ask(Claim(filled.run_id, "wrk_2", deadlines))
    done, lost = lanes(bench)["decisions"]
    assert (done["kind"], done["took_us"], done["cost_usd"]) == ("done", 2 * SECOND, "0.001907")
    assert done["detail"] == "m-1, prompt 7, 5 tokens in, 6 out"
    assert (lost["kind"], lost["took_us"], lost["cost_usd"]) == ("lost", HOUR, None)


def test_an_attempt_without_an_answer_ends_at_its_deadline_and_is_not_called_done(bench: Bench) -> None:
    bench.approve()
    filled = bench.filled
    filled.in_flight()
    filled.clock.now += SECOND
    (live,) = lanes(bench)["attempts"]
    assert (live["kind"], live["open"], live["took_us"]) == ("live", True, SECOND)
    filled.clock.now += HOUR
    (over,) = lanes(bench)["attempts"]
    assert (over["kind"], over["open"], over["took_us"]) == ("unknown", False, 30 * SECOND)
    assert over["operation"] == 1


def test_a_window_cuts_bars_and_keeps_how_long_they_took(bench: Bench) -> None:
    filled = bench.filled.submitted()
    filled.clock.now += 10 * SECOND
    filled.claimed()
    (bar,) = lanes(bench, begins_us=START + 4 * SECOND, ends_us=START + 6 * SECOND)["waiting"]
    assert (bar["begins_us"], bar["ends_us"], bar["took_us"]) == (START + 4 * SECOND, START + 6 * SECOND, 10 * SECOND)
    for begins, ends in ((START + HOUR, START + 2 * HOUR), (START + 5, START + 5), (START - HOUR, START - 1), (9, 3)):
        shown = Evidence(lambda: filled.opened).timeline(filled.run_id, begins_us=begins, ends_us=ends)
        assert shown["span_us"] > 0
        assert START <= shown["begins_us"] < START + 10 * SECOND


def test_many_steps_are_drawn_as_few_bars_that_count_them_all(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    for n in range(1, MOST_BARS * 2 + 3):
        filled.clock.now += SECOND
        step(bench, str(n), EntryKind.STEP_FAILED if n == 7 else EntryKind.STEP)
    bars = lanes(bench)["steps"]
    assert len(bars) <= MOST_BARS
    assert sum(bar["count"] for bar in bars) == MOST_BARS * 2 + 2
    assert [bar["kind"] for bar in bars].count("failed") == 1  # what went wrong is never hidden in a group
    assert bars[0]["begins_us"] == START and bars[-1]["ends_us"] == filled.clock.now
