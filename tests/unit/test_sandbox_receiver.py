"""What a second request does at the sandbox, for every kind of contract, without a server."""

import threading
from pathlib import Path

import pytest

from counterfoil.testing.sandbox import SandboxContract
from counterfoil.testing.sandbox.clock import SandboxClock
from counterfoil.testing.sandbox.receiver import Outcome
from tests.unit.sandbox_bench import BODY, Bench

REPEATS = [
    # kind, the repeat's status, records, whether the marker is there
    ("key", 201, 1, True),
    ("lookup", 201, 2, False),
    ("none", 201, 2, False),
    ("A", 201, 1, True),
    ("B", 201, 1, False),
    ("C", 201, 1, False),
    ("D", 200, 1, False),
    ("E", 202, 1, False),
    ("F", 409, 1, False),
    ("H", 200, 1, False),
    ("J", 201, 2, False),
]


@pytest.mark.parametrize(("kind", "status", "records", "marked"), REPEATS)
def test_the_same_request_again(tmp_path: Path, kind: str, status: int, records: int, marked: bool) -> None:
    bench = Bench(tmp_path, kind)
    assert bench.send().reply.status == 201
    again = bench.send()
    assert again.reply.status == status
    assert ("idempotent-replayed" in again.reply.headers) is marked
    assert len(bench.lines()) == len(bench.receiver.witness()) == records


AFTER_A_HIDDEN_EFFECT = [
    ("key", 500, 1),  # the poisoned key
    ("A", 500, 1),
    ("B", 201, 2),  # a cache of successes does not protect
    ("C", 201, 1),  # completes the first work
    ("D", 200, 1),
    ("E", 202, 1),
    ("F", 409, 1),
    ("none", 201, 2),
]


@pytest.mark.parametrize(("kind", "status", "records"), AFTER_A_HIDDEN_EFFECT)
def test_the_same_request_after_a_500_that_hid_the_effect(tmp_path: Path, kind: str, status: int, records: int) -> None:
    bench = Bench(tmp_path, kind)
    bench.faults.arm("error-after-accept")
    assert bench.send().reply.status == 500
    assert bench.send().reply.status == status
    assert len(bench.lines()) == records


OTHER_BODY = [
    ("key", 422, 1),
    ("A", 400, 1),
    ("D", 200, 1),
    ("E", 202, 1),
    ("H", 200, 1),
    ("none", 201, 2),
]


@pytest.mark.parametrize(("kind", "status", "records"), OTHER_BODY)
def test_the_same_key_with_another_body(tmp_path: Path, kind: str, status: int, records: int) -> None:
    bench = Bench(tmp_path, kind)
    first = bench.send().reply.body
    other = bench.send({**BODY, "amount": 6})
    assert (other.reply.status, len(bench.lines())) == (status, records)
    if kind == "D":
        assert other.reply.body == first
    if kind == "H":
        assert bench.lines()[0]["payload"] == {**BODY, "amount": 6}


@pytest.mark.parametrize(
    ("binding", "records", "amount"),
    [("rejects", 1, 5), ("replays", 1, 5), ("part_of_identity", 2, 5), ("overwrites", 1, 6)],
)
def test_how_a_body_is_bound_to_its_key(tmp_path: Path, binding: str, records: int, amount: int) -> None:
    bench = Bench(tmp_path, SandboxContract.from_json({"other_body": binding}))
    bench.send()
    bench.send({**BODY, "amount": 6})
    assert len(bench.lines()) == records
    assert bench.lines()[0]["payload"] == {**BODY, "amount": amount}


def test_a_key_is_remembered_up_to_the_end_of_its_window(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "key")
    bench.send()
    bench.receiver.advance(86_390)
    assert bench.send().replayed
    bench.receiver.advance(20)
    assert not bench.send().replayed
    assert len(bench.lines()) == 2


def test_the_clock_only_moves_forward(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "key")
    with pytest.raises(ValueError, match="forward"):
        bench.receiver.advance(-1)


def test_the_scope_of_a_key(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SandboxContract(key_scope=frozenset({"credential"})))
    bench.send(authorization="Bearer one")
    assert bench.send(authorization="Bearer one", path="/refunds").replayed, "another endpoint, same scope"
    assert not bench.send(authorization="Bearer two").replayed
    assert "Bearer" not in bench.file.read_text()
    bench = Bench(tmp_path / "..", SandboxContract(key_scope=frozenset({"endpoint"})))
    bench.file.unlink()
    bench.restart()
    bench.send(authorization="Bearer one")
    assert bench.send(authorization="Bearer two").replayed
    assert not bench.send(path="/refunds").replayed


@pytest.mark.parametrize(("saves", "second"), [({"2xx", "4xx"}, 422), ({"2xx"}, 201)])
def test_a_refusal_is_kept_only_if_the_contract_says_so(tmp_path: Path, saves: set[str], second: int) -> None:
    bench = Bench(tmp_path, SandboxContract(saves=frozenset(saves)))
    bench.faults.arm("refuse")
    assert bench.send().reply.status == 422
    assert bench.lines() == []
    assert bench.send().reply.status == second


def test_nothing_is_kept_of_an_error_before_accept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "key")
    bench.faults.arm("error-before-accept", count=2)
    assert [bench.send().reply.status for _ in range(3)] == [503, 503, 201]
    assert len(bench.lines()) == 1


def test_a_fault_of_the_effect_waits_for_a_request_that_is_executed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "key")
    bench.send()
    bench.faults.arm("refuse")
    assert bench.send().reply.status == 201
    assert bench.faults.names() == ["refuse"]
    assert bench.send(idempotency_key="k-2").reply.status == 422
    assert bench.faults.names() == []


@pytest.mark.parametrize(("behaviour", "status"), [("conflict", 409), ("refuses", 422)])
def test_a_repeat_while_the_first_still_runs(tmp_path: Path, behaviour: str, status: int) -> None:
    bench = Bench(tmp_path, SandboxContract.from_json({"in_progress": behaviour}))
    bench.faults.arm("slow")
    first = bench.receiver.write(bench.write())
    assert len(bench.lines()) == 1, "the effect comes before the slow reply"
    assert bench.send().reply.status == status
    bench.receiver.finish(first)
    assert bench.send().reply.status == 201
    assert len(bench.lines()) == 1


class AnnouncingClock(SandboxClock):
    """Says when it is read, which the receiver does under its lock."""

    def __init__(self) -> None:
        super().__init__()
        self.read = threading.Event()

    def now(self) -> float:
        self.read.set()
        return super().now()


def test_a_repeat_waits_for_the_first_and_shares_its_answer(tmp_path: Path) -> None:
    clock = AnnouncingClock()
    bench = Bench(tmp_path, SandboxContract(in_progress="waits"), clock)
    bench.faults.arm("slow")
    first = bench.receiver.write(bench.write())
    second: list[Outcome] = []
    clock.read.clear()
    thread = threading.Thread(target=lambda: second.append(bench.send()))
    thread.start()
    assert clock.read.wait(5)
    bench.receiver.finish(first)  # Can take the lock only once the second has begun to wait.
    thread.join(5)
    assert [(one.reply.status, one.replayed) for one in second] == [(201, True)]


def test_a_waiting_repeat_gives_up_with_the_lock_and_acts_again(tmp_path: Path) -> None:
    clock = AnnouncingClock()
    bench = Bench(tmp_path, SandboxContract(in_progress="waits", lock_timeout_seconds=30), clock)
    bench.faults.arm("slow")
    bench.receiver.write(bench.write())
    second: list[Outcome] = []
    clock.read.clear()
    thread = threading.Thread(target=lambda: second.append(bench.send()))
    thread.start()
    assert clock.read.wait(5)
    bench.receiver.advance(30)
    thread.join(5)
    assert [one.reply.status for one in second] == [201]
    assert len(bench.lines()) == 2


def test_a_lock_that_lets_go_while_the_first_still_runs_makes_a_second_record(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SandboxContract(lock_timeout_seconds=10))
    bench.faults.arm("hang")
    bench.receiver.write(bench.write())
    assert bench.send().reply.status == 409
    bench.receiver.advance(10)
    assert bench.send().reply.status == 201
    assert len(bench.lines()) == 2


@pytest.mark.parametrize("fault", ["late", "hang"])
def test_an_effect_lands_after_the_client_has_given_up(tmp_path: Path, fault: str) -> None:
    bench = Bench(tmp_path, SandboxContract(late_arrival_seconds=50))
    bench.faults.arm(fault)
    bench.send()
    assert bench.receiver.witness() == []
    assert bench.found(reference="op_1") == []
    assert bench.send().reply.status == 409
    bench.receiver.advance(50)
    assert len(bench.lines()) == 1
    assert bench.found(reference="op_1") == ["case-814"]
    assert bench.send().replayed


def test_the_delay_of_a_fault_goes_before_the_contract(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SandboxContract(late_arrival_seconds=50))
    bench.faults.arm("late", seconds=20)
    bench.send()
    bench.receiver.advance(20)
    assert len(bench.lines()) == 1


def test_a_late_effect_reaches_the_file_without_another_request(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "none")
    bench.faults.arm("late", seconds=0)
    bench.send()
    for timer in [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]:
        timer.join(5)
    assert len(bench.lines()) == 1


def test_a_client_chosen_id_is_made_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "G")
    assert bench.ask("/cases/mine")[0] == 404
    first = bench.send(method="PUT", path="/cases/mine")
    assert (first.reply.status, first.place) == (201, "/cases/mine")
    assert bench.send(method="PUT", path="/cases/mine").reply.status == 200
    assert bench.send({"amount": 6}, method="PUT", path="/cases/mine").reply.status == 409
    assert bench.send(method="PUT", path="/cases/mine", if_none_match="*").reply.status == 412
    assert bench.send(method="PUT", path="/other/mine").reply.status == 201
    assert bench.ask("/cases/mine")[1]["amount"] == 5
    assert len(bench.lines()) == 2


def test_an_upsert_hidden_by_a_500_has_happened(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "H")
    bench.send()
    bench.faults.arm("error-after-accept")
    assert bench.send({**BODY, "amount": 7}).reply.status == 500
    assert [line["payload"] for line in bench.lines()] == [{**BODY, "amount": 7}]


def test_two_steps_have_one_effect(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "I")
    prepared = bench.send()
    assert (prepared.reply.status, bench.lines()) == (201, [])
    assert isinstance(prepared.reply.body, dict)
    place = f"/cases/{prepared.reply.body['id']}/confirm"
    assert bench.send({}, path="/cases/prepared-99/confirm").reply.status == 404
    bench.faults.arm("drop-reply")
    assert bench.send({}, path=place).reply.status == 201
    assert bench.send({}, path=place).reply.status == 200
    assert [(line["payload"], line["reference"]) for line in bench.lines()] == [(BODY, "op_1")]
