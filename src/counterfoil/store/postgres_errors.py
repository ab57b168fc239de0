"""What a failure of PostgreSQL is called here, and whether anything can have been stored."""

import psycopg
from psycopg import errors

from counterfoil.store.port import StorageError
from counterfoil.store.postgres_address import PostgresAddress

_BUSY = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)
_ROW = (psycopg.IntegrityError, psycopg.DataError, errors.ProgramLimitExceeded, errors.StatementTooComplex)
_FULL = (errors.DiskFull, errors.OutOfMemory)


def storage_error(
    problem: psycopg.Error, address: PostgresAddress, busy_seconds: float, held_by: str = ""
) -> StorageError:
    """For whatever was raised before COMMIT was asked for, or in place of it: the transaction is rolled back, or soon will be."""
    said = address.masked(" ".join(str(problem).split()))
    if isinstance(problem, _BUSY):
        return StorageError("database_busy", seconds=f"{busy_seconds:g}", holder=f": {held_by}" if held_by else "")
    if isinstance(problem, _FULL):
        return StorageError("disk_full", problem=said)
    if isinstance(problem, errors.ReadOnlySqlTransaction):
        return StorageError("read_only", location=address.shown)
    if isinstance(problem, errors.InsufficientPrivilege):
        error = StorageError("not_granted", problem=said)
        error.refused_row = True  # what others put in the same batch may be granted
        return error
    if isinstance(problem, _ROW):
        error = StorageError("storage_failed", problem=said)
        error.refused_row = True
        return error
    if "statement pooling mode" in said:  # PgBouncer says it in words alone
        return StorageError("unsupported_pooler", location=address.shown, problem="it pools statements")
    if isinstance(problem, (psycopg.OperationalError, psycopg.InterfaceError)):
        return StorageError("server_lost", location=address.shown, problem=said)
    return StorageError("storage_failed", problem=said)
