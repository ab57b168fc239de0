"""`ledger.holding` on PostgreSQL: the server frees a name when its holder's connection is gone, also behind a pooler."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil import App, Refused
from counterfoil.app.opening import Founding
from tests.servers.pgbouncer import pooled
from tests.servers.postgres import shared

NAME = "one thread"


@pytest.fixture
def url() -> Iterator[str]:
    with shared().database() as url:
        yield url


def application(url: str, state: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """As another host has it: no folder in common."""
    monkeypatch.setenv("COUNTERFOIL_STATE", str(state))
    app = App("held", db=url)
    app.open(Founding(single_person=True, marker_accepted=True))
    return app


def test_two_hosts_do_not_hold_one_name(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pooled(shared(), mode="transaction") as pooler:
        one = application(url, tmp_path / "one", monkeypatch)
        monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "two"))
        two = App("held", db=pooler.at(url))
        for first, second in ((one, two), (two, one)):
            with first.ledger.holding(NAME), second.ledger.holding("another"):
                with pytest.raises(Refused) as refused, second.ledger.holding(NAME):
                    pass
                assert refused.value.code == "held_elsewhere"
            with second.ledger.holding(NAME):
                pass
        one.close()
        two.close()
