"""`counterfoil.receiving` over engines that differ: autocommit, isolation, a pooler, a COMMIT without an answer."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from counterfoil.receiving import Answer, Receiving
from counterfoil.testing.relay import relay
from tests.edges.receiving_bench import PROMISE, Service, mark, placing
from tests.servers.pgbouncer import pooled
from tests.servers.postgres import shared

CUT = """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'service.db'}"
    else:
        with shared().database() as found:
            yield found


def at_once(service: Service) -> None:
    start = threading.Barrier(6)

    def one(_: int) -> Answer:
        start.wait()
        return service.place()

    with ThreadPoolExecutor(6) as pool:
        marks = [mark(answer) for answer in pool.map(one, range(6))]
    assert marks.count((201, "first")) == 1 and service.placed == 1
    assert mark(service.place()) == (201, "replayed")


def test_an_engine_that_commits_by_itself_is_refused(url: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with pytest.raises(RuntimeError, match="commits by itself"):
        Receiving(engine, PROMISE).prepare()
    engine.dispose()


def test_stricter_isolation_makes_no_second_order(url: str) -> None:
    engine = create_engine(url, isolation_level="SERIALIZABLE")
    at_once(Service(engine))
    engine.dispose()


@pytest.mark.parametrize("fault", ["lose-answer", "lose-request"])
def test_a_commit_whose_answer_is_lost_is_told_as_unknown(fault: Any) -> None:
    with shared().database() as url, relay(shared().port) as between:
        through = url.replace(f":{shared().port}/", f":{between.port}/")
        engine = create_engine(through)
        service = Service(engine)

        def lost(session: Session) -> Answer:
            made = placing(session)
            between.arm(fault, b"COMMIT")
            return made

        assert mark(service.place(act=lost)) == (500, "unknown") and between.hit.wait(30)
        committed = fault == "lose-answer"
        wait_until_over(url)
        assert service.kit.look("acme", "k-1").state == ("answered" if committed else "absent")
        assert mark(service.place()) == (201, "replayed" if committed else "first") and service.placed == 1
        engine.dispose()


def wait_until_over(url: str) -> None:
    """The session whose connection was cut still holds its lock until the server has noticed."""
    for _ in range(3000):
        if shared().ask(CUT, url=url) == [(0,)]:
            return
    raise AssertionError("the cut session is still there")


def test_through_a_pooler_in_transaction_mode() -> None:
    with pooled(shared()) as pooler, shared().database() as url:
        engine = create_engine(pooler.at(url), connect_args={"prepare_threshold": None})
        service = Service(engine)
        at_once(service)
        assert service.kit.look("acme", "k-1").state == "answered"
        assert service.kit.refuse("acme", "k-2").state == "refused"
        assert mark(service.place("k-2")) == (410, "replayed")
        engine.dispose()


def test_processes_that_start_at_once_make_one_table(url: str) -> None:
    engines = [create_engine(url) for _ in range(4)]
    start = threading.Barrier(4)

    def prepared(engine: Engine) -> None:
        start.wait()
        Receiving(engine, PROMISE).prepare()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(prepared, engines))
    assert mark(Service(engines[0]).place()) == (201, "first")
    for engine in engines:
        engine.dispose()
