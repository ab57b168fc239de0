"""PostgreSQL does everything that a backend must do, in a schema beside other things of the same database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.conformance import Case, MakeDatabase, cases
from counterfoil.testing.conformance.backends import postgres_within
from tests.servers.postgres import shared


@pytest.fixture(scope="module")
def make() -> Iterator[MakeDatabase]:
    with shared().database() as url, postgres_within(PostgresAddress.of(url)) as backend:
        yield backend.make


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.area}-{case.name}")
def test_case(case: Case, make: MakeDatabase, tmp_path: Path) -> None:
    case.run(make, tmp_path)
