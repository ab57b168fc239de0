"""What can be said of PostgreSQL without a server: addresses, the spelling of queries, arrays, and text that it cannot hold."""

import pytest

from counterfoil.model.errors import Refused
from counterfoil.store.postgres_address import PostgresAddress, is_postgres
from counterfoil.store.postgres_arrays import array, types_of
from counterfoil.store.postgres_spelling import spelled
from counterfoil.store.postgres_words import kept, meant
from counterfoil.store.queries import queries
from counterfoil.store.tables import BY_NAME


@pytest.mark.parametrize(
    ("text", "shown", "schema", "password"),
    [
        ("postgresql://ana@db/ledger", "postgresql://ana@db/ledger", None, None),
        ("postgres://ana:s%40x@db:5433/l?schema=one", "postgresql://ana:***@db:5433/l?schema=one", "one", "s@x"),
        ("postgresql:///l?host=/tmp&password=sec", "postgresql:///l?host=/tmp&password=***", None, "sec"),
        ("postgresql://ana:pw@a,b:1/l?target_session_attrs=read-write",
         "postgresql://ana:***@a,b:1/l?target_session_attrs=read-write", None, "pw"),
    ],
)  # fmt: skip
def test_an_address_shows_no_password(text: str, shown: str, schema: str | None, password: str | None) -> None:
    address = PostgresAddress.of(text)
    assert (address.shown, address.schema, address.password) == (shown, schema, password)
    assert "schema=" not in address.url
    assert is_postgres(text)
    if password is not None:
        assert password not in address.masked(f"could not use {password} there")
        assert password not in shown.replace("postgresql", "")


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ana@db:x/l",
        "postgresql://db/l?schema=a&schema=b",
        "postgresql://db/l?schema=a;b",
        "postgresql://db/l?schema=",
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        PostgresAddress.of(text)
    assert refused.value.code == "usage"


def test_every_shared_query_is_spelled_whole() -> None:
    for name, query in queries("postgres").items():
        if not name.startswith("user_receipt"):
            written = spelled(query.sql)
            assert "INDEXED BY" not in written, name
            assert "json_each" not in written, name
            assert not [part for part in ("char(31)", "instr(", "LIMIT -1") if part in written], name


def test_a_null_is_written_into_the_text() -> None:
    asked = "SELECT 7 % 4 WHERE (:a IS NULL OR x = :a) AND y::text = :ab AND z IN (SELECT value FROM json_each(:l))"
    assert spelled(asked, frozenset({"a"})) == (
        "SELECT 7 %% 4 WHERE (NULL IS NULL OR x = NULL) AND y::text = %(ab)s "
        "AND z IN (SELECT jsonb_array_elements_text(CAST(%(l)s AS jsonb)))"
    )


@pytest.mark.parametrize("text", ["", "plain", "\0", "a\0b\x01c\x010", "\x01", "\x011\0", "漢\0字"])
def test_the_zero_character_is_kept_and_given_back(text: str) -> None:
    assert "\0" not in kept(text)
    assert meant(kept(text)) == text


def test_texts_keep_their_order() -> None:
    texts = sorted(["", "\0", "\0\0", "\x01", "\x010", "\x02", "a", "a\0", "a\x01"])
    assert sorted(map(kept, texts)) == list(map(kept, texts))


def test_arrays_are_written_as_postgresql_reads_them() -> None:
    assert array("text", ['a"b\\c', None, "{,}"]) == r'{"a\"b\\c",NULL,"{,}"}'
    assert array("bigint", [1, None, True]) == "{1,NULL,1}"
    assert array("bytea", [b"\x00\xff"]) == r'{"\\x00ff"}'
    assert array("double precision", [1, 0.5]) == "{1.0,0.5}"


def test_types_come_from_the_records() -> None:
    kinds = types_of(BY_NAME["runs"])
    assert (kinds["run_id"], kinds["state"], kinds["due_at"], kinds["head"]) == ("text", "text", "bigint", "bytea")


def test_an_address_as_it_is_shown_has_no_password() -> None:
    given = PostgresAddress.of("postgresql://ana:secret@db.example:5433/shop?schema=ledger&connect_timeout=3")
    assert "secret" not in given.shown
    typed = PostgresAddress.of(given.shown)
    assert (typed.password, typed.shown) == (None, given.shown)
    assert typed.url == "postgresql://ana@db.example:5433/shop?connect_timeout=3"
    asked = PostgresAddress.of("postgresql://ana@db.example/shop?password=***&schema=ledger")
    assert (asked.password, asked.url) == (None, "postgresql://ana@db.example/shop")
    assert PostgresAddress.of(given.given).password == "secret"
