"""How many commits a ledger took: counted by its database itself, and not by us."""

import psycopg
from psycopg import sql

from counterfoil.store.postgres_scratch import TABLES
from counterfoil.testing.case_ledger import CaseLedger
from counterfoil.testing.case_schema import SchemaLedger

NOTED = """
    CREATE TABLE {schema}.tally (id xid8 PRIMARY KEY);
    CREATE FUNCTION {schema}.tally() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO {schema}.tally VALUES (pg_current_xact_id()) ON CONFLICT DO NOTHING; RETURN NULL; END $$
"""
WATCHED = """
    CREATE TRIGGER tally AFTER INSERT OR UPDATE OR DELETE ON {schema}.{table} FOR EACH STATEMENT EXECUTE FUNCTION {schema}.tally()
"""


def keep_tally(ledger: CaseLedger) -> None:
    """From here on a server notes each transaction that writes into a table of ours. SQLite is asked in the process that commits."""
    if isinstance(ledger, SchemaLedger):
        schema = sql.Identifier(ledger.address.schema or "public")
        with psycopg.connect(ledger.address.url) as connection:
            connection.execute(sql.SQL(NOTED).format(schema=schema))
            for table in TABLES:
                connection.execute(sql.SQL(WATCHED).format(schema=schema, table=sql.Identifier(table)))


def tallied(ledger: SchemaLedger) -> int:
    """How many of them were committed."""
    schema = sql.Identifier(ledger.address.schema or "public")
    with psycopg.connect(ledger.address.url) as connection:
        return connection.execute(sql.SQL("SELECT count(*) FROM {}.tally").format(schema)).fetchall()[0][0]
