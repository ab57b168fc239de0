"""Schedules that begin every default budget: what chance rarely brings, brought about by rates that are high on purpose."""

from collections.abc import Mapping

from counterfoil.testing.simulate.application import Act, Plan
from counterfoil.testing.simulate.book import Wish
from counterfoil.testing.simulate.options import Options
from counterfoil.testing.simulate.schedule import Stage
from counterfoil.testing.simulate.world import START_US

LONGER_THAN_THE_BUDGET_S = 1900


def _focus(*operations: str, workers: int = 2, calm: float = 120.0, **rates: float) -> Options:
    named = {name.replace("_", "-"): rate for name, rate in rates.items()}
    return Options(workers, 4, 3, calm, operations, False, named)


FOCUSED: Mapping[str, Options] = {
    "a receiver that makes two": _focus("listed", "both", doubled=0.5, look_up=30.0, drop_reply=0.3),
    "somebody edits records": _focus("listed", "both", edited=9.0, look_up=30.0, drop_reply=0.4, late=0.2),
    "nothing arrives": _focus("keyed", "locked", lost=0.95, calm=240.0, look_up=9.0, hang=0.05),
    "judged in haste": _focus("mute", "blind", "first_only", hang=0.4, lost=0.2, hasty=0.9, suspend=3.0, calm=240.0),
    "reviewers": _focus(
        "keyed_reviewed", "keyed_paired", "listed_reviewed", calm=200.0, answer_late=0.2, reject=0.3, withdraw=9.0, revoke=4.0,
        answer_twice=20.0, answer_other_version=20.0, answer_not_entitled=20.0, error_after_accept=0.3,
    ),
    # Nobody sends for a while, so that there are approvals to take back.
    "taken back": _focus("keyed_reviewed", "listed_reviewed", withdraw=60.0, calm=300.0),
    "user code fails": _focus("keyed", "loose", model_fails=0.3, step_fails=0.3, step_fails_for_good=0.1, quiet=9.0),
    "longer than the budget": _focus("keyed"),
    "two records, and the sender dies": _focus("listed", "both", doubled=0.5, kill=9.0, kill_at_boundary=0.06, calm=200.0),
    "an order is overtaken": _focus("keyed", lost=0.97, hasty=0.9, calm=600.0),
    "refused, stopped and busy": _focus("keyed", "absent", "listed", refuse=0.3, suspend=20.0, busy=0.2, drop_reply=0.2,
        unreachable=0.1, slow=0.1, late=0.1, freeze_at_the_wire=0.1, calm=150.0),
}  # fmt: skip
"""By name: what each has on."""


def direct(name: str, stage: Stage) -> None:
    """Put into the book what this schedule needs that chance would not."""
    if name == "longer than the budget":
        perform = Act(kind="perform", name="keyed", number="1", amount=7)
        slept = Act(kind="sleep", seconds=LONGER_THAN_THE_BUDGET_S)
        stage.book.wishes = [Wish("request-1", Plan(acts=[slept, perform]), START_US + 1_000_000, None)]
    if name == "taken back":
        for begin in (10.0, 40.0, 80.0):
            stage.at(begin, lambda: stage.trouble.without_workers(25.0))
    if name == "an order is overtaken":
        stage.at(
            90.0, lambda: stage.trouble.without_workers(300.0)
        )  # people decide; nobody sends until the key has lapsed


SEEDS: Mapping[str, tuple[int, ...]] = {
    "two records, and the sender dies": (1,), "an order is overtaken": (0, 3), "refused, stopped and busy": (2,),
    "somebody edits records": (0, 1),
}  # fmt: skip
"""Where seed 0 alone does not bring about what a schedule is for."""


def beginning() -> list[tuple[str, int]]:
    """The schedules, by name and seed, that a default budget begins with."""
    return [(name, seed) for name in FOCUSED for seed in SEEDS.get(name, (0,))]
