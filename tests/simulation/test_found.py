"""What the simulation found in the product, each as a directed schedule of its own."""

from dataclasses import replace
from pathlib import Path

from counterfoil.model.run import RunRecord
from counterfoil.testing.simulate import Played, Stage, play
from counterfoil.testing.simulate.application import Act, Plan
from counterfoil.testing.simulate.book import Wish
from counterfoil.testing.simulate.options import Options
from counterfoil.testing.simulate.world import START_US

QUIET = Options(workers=1, runs=1, acts=1, calm_after=90.0, operations=("keyed",), duties=False)


def _perform(name: str, number: str) -> Act:
    return Act(kind="perform", name=name, number=number, amount=7)


def _wish(*acts: Act) -> Wish:
    return Wish("request-1", Plan(acts=list(acts)), START_US + 1_000_000, None)


def _restored_while_two_wait_for_their_reviewers(stage: Stage) -> None:
    both = Act(kind="gather", acts=[[_perform("keyed_reviewed", "1")], [_perform("keyed_reviewed", "2")]])
    stage.book.wishes = [_wish(both)]
    backups: list[Path] = []
    stage.at(3.5, lambda: backups.append(stage.site.back_up()))
    stage.at(3.6, lambda: stage.trouble.put_back(backups[0]))


def test_two_doubts_of_one_run_are_closed_one_after_the_other() -> None:
    """After a restore both are maybe sent, and only another send can close them.

    Each was held by the other's doubt, and nobody was asked: seed 34, and the run waited for ever.
    """
    for seed in range(3):
        played = play(seed, options=QUIET, directed=_restored_while_two_wait_for_their_reviewers)
        assert _whole(played) == {"completed": 1}
        assert played.records == 2 and played.simulated_s < 600


def test_a_run_that_waits_for_a_review_hears_of_a_restore_at_once() -> None:
    """Its review was void, nobody could answer it, and the run went on waiting for it until it would have expired."""
    states: list[tuple[str, str | None]] = []

    def directed(stage: Stage) -> None:
        _restored_while_two_wait_for_their_reviewers(stage)

        def look() -> None:
            with stage.site.looking().reader() as reader:
                states.extend((run.state.value, run.reason) for run in reader.rows(RunRecord))

        stage.trouble.down_for = (0.0, 1.0)
        stage.at(30.0, look)

    _whole(play(1, options=QUIET, directed=directed))
    assert states == [("parked", "restored")]


def test_a_key_that_was_first_used_before_the_restored_head_was_lost_is_not_taken_for_new() -> None:
    """A backup from before the run is put back, and its client asks again: the operation is derived anew, long after it was sent.

    Its key's window was counted from then, so that it was repeated when the receiver had forgotten it: seed 1010, two records.
    """

    def directed(stage: Stage) -> None:
        stage.book.wishes = [_wish(_perform("keyed", "1"))]
        stage.trouble.down_for = (0.0, 1.0)
        backups: list[Path] = []
        stage.at(0.7, lambda: backups.append(stage.site.back_up()))
        stage.at(215.0, lambda: stage.trouble.put_back(backups[0]))

    played = play(1, options=replace(QUIET, calm_after=400.0), directed=directed)
    assert _whole(played) == {"completed": 1}
    assert played.records == 1 and played.cases >= {"Z", "I"}


def test_what_a_run_of_before_a_restore_plans_after_it_may_have_been_sent() -> None:
    """The backup knows the run and none of its writes. The second one is planned when the restore is finished, after the first.

    It counted as new and was sent again: a drill of the support desk, whose model had found other words for its e-mail.
    """

    def directed(stage: Stage) -> None:
        acts = [Act(kind="sleep", seconds=5), _perform("keyed", "1"), _perform("listed", "2"), _perform("mute", "3")]
        stage.book.wishes = [_wish(*acts)]
        stage.trouble.down_for = (0.0, 1.0)
        backups: list[Path] = []
        stage.at(3.5, lambda: backups.append(stage.site.back_up()))
        stage.at(90.0, lambda: stage.trouble.put_back(backups[0]))

    played = play(1, options=replace(QUIET, calm_after=400.0), directed=directed)
    assert _whole(played) == {"completed": 1}
    assert played.records == 3 and played.cases >= {"R", "E", "Z", "I"}, "repeated, found, and told by a person"


def test_what_is_asked_for_again_long_after_a_restore_may_have_been_sent() -> None:
    """The backup does not know the run at all, and its client asks again when the restore is finished: the same identities."""

    def directed(stage: Stage) -> None:
        wish = _wish(_perform("keyed", "1"), _perform("listed", "2"), _perform("mute", "3"))
        stage.book.wishes = [wish]
        stage.trouble.down_for = (0.0, 1.0)
        backups: list[Path] = []
        stage.at(0.7, lambda: backups.append(stage.site.back_up()))

        def put_back() -> None:
            wish.at_us += 200_000_000  # forty seconds after it was put back the restore is finished
            stage.trouble.put_back(backups[0])

        stage.at(90.0, put_back)

    played = play(1, options=replace(QUIET, calm_after=400.0), directed=directed)
    assert _whole(played) == {"completed": 1}
    assert played.records == 3 and played.cases >= {"R", "E", "Z", "I"}


def test_a_run_that_waits_while_the_clock_is_put_back_is_not_taken_up_again_and_again() -> None:
    """It waited until an instant of the host's clock that was past for the ledger's, which never goes back.

    So it was claimed and suspended without a pause, with two entries each time: seed 2000, hundreds in a simulated second.
    """
    entries: list[int] = []

    def directed(stage: Stage) -> None:
        slept = Act(kind="sleep", seconds=20)
        stage.book.wishes = [_wish(Act(kind="child", number="c", acts=[[slept, _perform("keyed", "1")]]))]
        stage.at(0.9, lambda: stage.world.step_clock(-600.0))
        stage.at(0.95, lambda: _die(stage))  # who starts now knows no other clock

        def look() -> None:
            with stage.site.looking().reader() as reader:
                entries.append(sum(1 for _ in reader.journal()))

        stage.at(60.0, look)

    played = play(1, options=QUIET, directed=directed)
    assert _whole(played) == {"completed": 2}
    assert played.records == 1 and entries[0] < 60, entries


def test_an_intention_prepared_while_a_restore_is_unfinished_still_has_its_business_key() -> None:
    """What is minted then counts as maybe sent, so nobody looked at its business key: two runs, two records of one number."""

    def directed(stage: Stage) -> None:
        backup: list[Path] = []
        both = [Act(kind="perform", name="listed", number="1", amount=amount) for amount in (7, 8)]
        stage.book.wishes = [
            Wish(f"request-{n}", Plan(acts=[act]), START_US + at, None)
            for n, (act, at) in enumerate(zip(both, (11_000_000, 12_000_000), strict=True), 1)
        ]
        stage.trouble.down_for = (0.0, 0.5)
        first = Wish("request-0", Plan(acts=[_perform("keyed", "0")]), START_US + 1_000_000, None)
        stage.book.wishes.insert(0, first)
        stage.at(0.5, lambda: backup.append(stage.site.back_up()))
        stage.at(9.0, lambda: stage.trouble.put_back(backup[0]))

    for seed in range(3):
        played = play(seed, options=replace(QUIET, calm_after=200.0), directed=directed)
        assert played.violations == [], played.violations


def _die(stage: Stage) -> None:
    for process in list(stage.world.processes):
        if process is not stage.world.outside:
            process.die()


def _whole(played: Played) -> dict[str, int]:
    assert played.violations == [], played.violations
    assert played.unaccounted == 0
    return dict(played.ends)
