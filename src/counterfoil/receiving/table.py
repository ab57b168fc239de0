"""The one table, in the service's own database beside the rows that its actions change."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text


def keys_table(metadata: MetaData, name: str = "receiving_keys") -> Table:
    """Add the table to your metadata, so that your migrations make it. Times are microseconds since 1970.

    `scope` and `digest` are SHA-256 in hexadecimal. A row outlives its window without `headers` and `body`: that is what
    keeps a late repeat from acting again.
    """
    return Table(
        name,
        metadata,
        Column("scope", String(64), primary_key=True),
        Column("key", String(255), primary_key=True),
        Column("digest", String(64), nullable=False),
        Column("state", String(16), nullable=False),
        Column("status", Integer),
        Column("headers", Text),
        Column("body", LargeBinary),
        Column("reference", Text),
        Column("accepted_at", BigInteger, nullable=False),
        Column("kept_until", BigInteger, nullable=False),
        # `working` is seen by nobody: the commit that shows the row has its answer.
        CheckConstraint("state IN ('working', 'answered', 'over', 'refused')", name=f"{name}_state"),
        Index(f"{name}_due", "state", "kept_until"),
    )
