"""`counterfoil.receiving`: one transaction for key, change and answer, on SQLite and PostgreSQL."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, insert, select
from sqlalchemy.orm import Session

from counterfoil.receiving import Answer
from tests.edges.receiving_bench import DAY, PROMISE, Service, asked, mark, orders, placing
from tests.servers.postgres import shared


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'service.db'}"
    else:
        with shared().database() as found:
            yield found


@pytest.fixture
def service(url: str) -> Iterator[Service]:
    engine = create_engine(url)
    yield Service(engine)
    engine.dispose()


# --- repeats and conflicts ------------------------------------------------------------------------------------------------


def test_a_repeat_gets_the_first_answer_and_nothing_is_done(service: Service) -> None:
    first, again = service.place(), service.place()
    assert (mark(first), mark(again)) == ((201, "first"), (201, "replayed"))
    assert (again.body, again.headers["location"]) == (first.body, first.headers["location"])
    assert first.headers["content-type"] == again.headers["content-type"] and service.placed == 1


def test_the_same_content_counts_however_it_is_written(service: Service) -> None:
    service.place()
    written_otherwise = [b'{"count":2,"item":"tea"}', b' {"item" : "\\u0074ea",\n"count":2.0}']
    assert [mark(service.place(body=body)) for body in written_otherwise] == [(201, "replayed")] * 2
    others = [{"body": b'{"item":"tea","count":3}'}, {"path": "/refunds"}, {"method": "PUT"}, {"query": "a=1"}]
    assert [mark(service.place(**other)) for other in [*others, {"body": b"{"}]] == [(422, "mismatch")] * 5
    service.keeps(replace(PROMISE, counts="bytes", mismatch=409))
    service.place("k-2")
    assert mark(service.place("k-2", body=b'{"count":2,"item":"tea"}')) == (409, "mismatch")
    assert mark(service.place("k-2")) == (201, "replayed") and service.placed == 2


def test_query_parameters_count_and_their_order_does_not(service: Service) -> None:
    service.place(query="a=1&b=")
    assert mark(service.place(query="b=&a=1")) == (201, "replayed")
    assert mark(service.place(query="a=1")) == (422, "mismatch")


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b'{"n": 9007199254740993}', b"NaN", b'{"a": "\\ud800"}', b"[" * 9999]
)
def test_a_body_that_is_no_exact_json_counts_by_its_bytes(body: bytes) -> None:
    one = replace(asked(), body=body)
    assert one.digest(PROMISE) == replace(one).digest(PROMISE) != replace(one, body=body + b" ").digest(PROMISE)


def test_digests_of_two_keys_cannot_be_compared() -> None:
    assert (
        len({asked("a").digest(PROMISE), asked("b").digest(PROMISE), replace(asked("a"), scope="x").digest(PROMISE)})
        == 3
    )


@pytest.mark.parametrize("keys", [[], [""], ["a", "a"], ["x" * 256], ["with space"], ["ä"], ["tab\t"], ["\x00"]])
def test_an_odd_key_is_refused_and_nothing_is_done(service: Service, keys: list[str]) -> None:
    assert mark(service.place(keys=keys)) == (400, "bad_key")
    assert service.placed == 0


@pytest.mark.parametrize("key", ["x", "x" * 255, '"quoted"', "a/b?c=d&e#f%20", "~!'--"])
def test_every_visible_key_works(service: Service, key: str) -> None:
    assert [mark(service.place(key)) for _ in range(2)] == [(201, "first"), (201, "replayed")]
    assert service.kit.look("acme", key).state == "answered"


def test_each_scope_has_keys_of_its_own_and_none_is_stored(service: Service, tmp_path: Path) -> None:
    secret = "Bearer planted-secret-4711"
    assert mark(service.place(scope=secret)) == (201, "first") == mark(service.place(scope="other"))
    assert service.placed == 2 and service.kit.look("third", "k-1").state == "absent"
    with service.engine.connect() as connection:
        rows = [str(tuple(row)) for row in connection.execute(select(service.kit._table))]
    assert len(rows) == 2 and not any("planted" in row for row in rows)
    assert not any(b"planted-secret" in file.read_bytes() for file in tmp_path.iterdir())


# --- errors ---------------------------------------------------------------------------------------------------------------


def refusing(session: Session) -> Answer:
    placing(session)
    session.commit()  # stays inside
    return Answer.json(409, {"detail": "sold out"})


def failing(session: Session) -> Answer:
    placing(session)
    session.commit()
    raise RuntimeError("a defect")


def test_a_refusal_is_kept_and_its_change_is_not(service: Service) -> None:
    answers = [service.place(act=refusing), service.place(act=refusing), service.place()]
    assert [mark(answer) for answer in answers] == [(409, "first"), (409, "replayed"), (409, "replayed")]
    assert service.placed == 0


def test_an_error_leaves_no_trace(service: Service) -> None:
    assert mark(service.place(act=failing)) == (500, "not_executed")
    assert mark(service.place(act=lambda session: Answer(status=503))) == (503, "not_executed")
    assert service.placed == 0 and service.kit.look("acme", "k-1").state == "absent"
    assert mark(service.place()) == (201, "first")


def test_an_error_is_kept_where_it_is_promised(service: Service) -> None:
    service.keeps(replace(PROMISE, errors="kept"))
    assert [mark(service.place(act=act)) for act in (failing, placing)] == [(500, "first"), (500, "replayed")]
    assert service.placed == 0


def test_what_an_act_may_not_answer_is_an_error(service: Service) -> None:
    def with_cookie(session: Session) -> Answer:
        return replace(placing(session), headers={"Set-Cookie": "session=1"})

    def too_large(session: Session) -> Answer:
        return replace(placing(session), body=b"x" * (PROMISE.largest_answer + 1))

    def no_answer(session: Session) -> Any:
        placing(session)

    def moved(session: Session) -> Answer:
        return Answer(status=302)

    def twice(session: Session) -> Answer:
        session.execute(insert(orders), [{"item": "one"}, {"item": "one"}])
        return Answer(status=200)

    for act in (with_cookie, too_large, no_answer, moved, twice):
        assert mark(service.place(act=act)) == (500, "not_executed"), act
    assert service.placed == 0


def test_a_promise_that_contradicts_itself_is_refused() -> None:
    for wrong in (
        {"window": timedelta(0)},
        {"headers": ["Set-Cookie"]},
        {"longest_key": 20},
        {"longest_key": 999},
        {"action": " "},
        {"retry_after": timedelta(0)},
    ):
        with pytest.raises(ValueError):
            replace(PROMISE, **wrong)


# --- two at once ----------------------------------------------------------------------------------------------------------


def test_many_at_once_under_one_key_place_one_order(service: Service) -> None:
    start = threading.Barrier(6)

    def one(_: int) -> Answer:
        start.wait()
        return service.place()

    with ThreadPoolExecutor(6) as pool:
        marks = [mark(answer) for answer in pool.map(one, range(6))]
    assert marks.count((201, "first")) == 1 and service.placed == 1
    assert set(marks) <= {(201, "first"), (201, "replayed"), (409, "in_progress"), (503, "not_executed")}


def test_while_the_first_is_at_work_a_repeat_waits_or_is_told_so(service: Service) -> None:
    inside, go = threading.Event(), threading.Event()

    def slow(session: Session) -> Answer:
        made = placing(session)
        inside.set()
        assert go.wait(30)
        return made

    on_postgres = service.engine.dialect.name == "postgresql"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.place, act=slow)
        assert inside.wait(30)
        if on_postgres:
            told = service.place()
            assert mark(told) == (409, "in_progress") and told.headers["retry-after"] == "1"
            assert service.kit.look("acme", "k-1").state == service.kit.refuse("acme", "k-1").state == "in_progress"
            assert mark(service.place("k-2")) == (201, "first"), "another key does not wait"
        again = pool.submit(service.place)  # on SQLite it waits for the first
        if on_postgres:
            assert mark(again.result(30)) == (409, "in_progress")
        go.set()
        assert mark(first.result(30)) == (201, "first")
        assert mark(again.result(30)) == ((409, "in_progress") if on_postgres else (201, "replayed"))
    assert mark(service.place()) == (201, "replayed")


def test_a_database_that_is_busy_executes_nothing_and_says_so(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'service.db'}", connect_args={"timeout": 0})
    service = Service(engine)
    with engine.connect() as other, other.begin():
        other.execute(insert(orders))
        told = service.place()
        assert mark(told) == (503, "not_executed") and told.headers["retry-after"] == "1"
        other.rollback()
    assert service.placed == 0 and mark(service.place()) == (201, "first")
    engine.dispose()


# --- the window, lookups, refusals ----------------------------------------------------------------------------------------


def test_after_the_window_it_says_so_and_never_acts_again(service: Service) -> None:
    service.place()
    for wait, forgotten in ((7 * DAY - 1, 0), (1, 1), (400 * DAY, 0)):
        service.clock.now += wait
        before = mark(service.place())
        assert service.kit.clean_up() == forgotten
        assert mark(service.place()) == before == ((201, "replayed") if wait > 1 and wait < 8 * DAY else (410, "over"))
    told = service.kit.look("acme", "k-1")
    assert (told.state, told.status, told.reference, told.answer, told.holds) == ("over", 201, "1", None, True)
    assert mark(service.place(body=b"{}")) == (422, "mismatch") and service.placed == 1


def test_a_clock_that_went_back_brings_no_answer_back(service: Service) -> None:
    service.place()
    service.clock.now += 8 * DAY
    assert service.kit.clean_up() == 1
    service.clock.now -= 8 * DAY
    assert mark(service.place()) == (410, "over") and service.placed == 1


def test_cleaning_up_races_repeats_and_nothing_acts_again(service: Service) -> None:
    for number in range(20):
        service.place(f"k-{number}")
    service.clock.now += 7 * DAY
    start = threading.Barrier(3)

    def repeats(_: int) -> set[tuple[int, str]]:
        start.wait()
        return {mark(service.place(f"k-{number}")) for number in range(20)}

    def cleans() -> int:
        start.wait()
        return sum(service.kit.clean_up(limit=3) for _ in range(10))

    with ThreadPoolExecutor(3) as pool:
        cleaned, told = pool.submit(cleans), list(pool.map(repeats, range(2)))
        assert cleaned.result(60) == 20
    assert set.union(*told) <= {(410, "over"), (409, "in_progress"), (503, "not_executed")} and service.placed == 20


def test_absence_holds_only_once_the_key_is_refused(service: Service) -> None:
    seen = service.kit.look("acme", "k-1")
    assert (seen.state, seen.holds) == ("absent", False)
    refused = service.kit.refuse("acme", "k-1")
    assert (refused.state, refused.holds) == ("refused", True)
    assert service.kit.refuse("acme", "k-1").state == service.kit.look("acme", "k-1").state == "refused"
    late = [service.place(), service.place(body=b"other")]
    assert [mark(answer) for answer in late] == [(410, "replayed")] * 2 and service.placed == 0


def test_what_was_answered_cannot_be_refused_any_more(service: Service) -> None:
    service.place()
    told = service.kit.refuse("acme", "k-1")
    assert (told.state, told.reference, told.content()["answer"]) == ("answered", "1", {"id": 1})
    assert mark(service.place()) == (201, "replayed")


def test_the_databases_own_clock_is_used(service: Service) -> None:
    service.keeps(PROMISE, clock=None)
    service.place()
    seen = service.kit.look("acme", "k-1")
    assert seen.accepted_at is not None and seen.kept_until == seen.accepted_at + 7 * DAY
    assert 20_000 * DAY < seen.accepted_at < 40_000 * DAY and service.kit.clean_up() == 0
