"""Refusals of the database, of what lies beside it, and of what a restore has stopped."""

from counterfoil.model.error_code import MISSING, UNKNOWN, ErrorCode

STORAGE = (
    ErrorCode(
        "not_ours",
        "{location} is not a Counterfoil database.",
        "Give another location with --db; the file was not touched.",
    ),
    ErrorCode(
        "newer_schema",
        "The database has schema {found}; this code knows {known}.",
        "Use the newer release; the database was not touched.",
    ),
    ErrorCode("no_database", "There is no database at {location}.", "Make one with `counterfoil init`.", UNKNOWN),
    ErrorCode(
        "already_initialised", "{location} is initialised already.", "Use it as it is, or choose another folder."
    ),
    ErrorCode(
        "installation_twice",
        "{location} holds an installation with this approval key: both would have one id, and their operations the same keys.",
        "Nothing was founded. Use that one, or give this one an approval key of its own.",
    ),
    ErrorCode(
        "not_granted",
        "The server refuses this to the role of the connection: {problem}.",
        "Nothing was stored. Use the role that may do it: people answer by the console's, see `counterfoil database roles`.",
    ),
    ErrorCode(
        "disk_full",
        "The disk is full: {problem}.",
        "Nothing of this commit was stored and nothing was sent. Free space and try again.",
    ),
    ErrorCode(
        "storage_failed",
        "The database failed: {problem}.",
        "Nothing unconfirmed was sent. Run `counterfoil doctor`, then try again.",
    ),
    ErrorCode(
        "database_busy",
        "Another process has held the database's write lock for {seconds} s{holder}.",
        "Nothing was changed. Find the holder with `counterfoil doctor`, then try again.",
    ),
    ErrorCode(
        "server_lost",
        "The database server at {location} cannot be reached, or ended the connection: {problem}.",
        "Nothing of this commit was stored and nothing was sent. Try again when the server answers.",
        MISSING,
    ),
    ErrorCode(
        "read_only",
        "The database at {location} takes no writes: it is a standby, or set so.",
        "Nothing was changed. Give the address of the primary.",
    ),
    ErrorCode(
        "server_promoted",
        "The database server at {location} was promoted or recovered while the ledger was open, and may lack commits.",
        "Nothing of this commit was stored. Start this process again: the ledger is then compared with its outside marker.",
    ),
    ErrorCode(
        "unsupported_pooler",
        "The pooler before {location} does not keep a transaction on one connection: {problem}.",
        "Nothing was changed. Let it pool transactions or sessions, or give the server's own address.",
    ),
    ErrorCode(
        "unsupported_server",
        "The database server at {location} cannot be used: {problem}.",
        "Nothing was changed there. Use PostgreSQL 14 or newer with a database in UTF8.",
    ),
    ErrorCode(
        "host_unvouched",
        "The host {name} has no outside marker of this ledger, and none that has one answers for the ledger: {known}.",
        "Nothing was sent. Start Counterfoil on one of them, then here again. Where none is left, or the database comes from a backup, say "
        "so with `counterfoil restore begin`.",
    ),
    ErrorCode("too_large", "{what} has {size} bytes; the limit is {limit}.", "Keep it as an artifact and pass that."),
    ErrorCode(
        "artifact_missing",
        "The artifact {digest} is not in the store.",
        "Restore the artifact folder; nothing was changed.",
    ),
    ErrorCode(
        "messages_missing",
        "Of {kept} messages that stood before the question only {found} can be read as they were.",
        "Look whether the runs of the turns before are all in this database; nothing was changed.",
    ),
    ErrorCode(
        "artifact_damaged",
        "The artifact {digest} has other bytes than its digest says.",
        "Restore it from a backup; nothing was changed.",
    ),
    ErrorCode(
        "backup_exists",
        "There is something at {folder} already.",
        "Name a folder that is not there yet; nothing was written.",
    ),
    ErrorCode(
        "backup_of_server",
        "{location} is on a server, and is backed up there.",
        "Use the server's own tools, with point-in-time recovery: docs/backups.md says how.",
    ),
    ErrorCode(
        "no_backup",
        "{folder} holds no backup of a ledger: {problem}.",
        "Name the folder that `counterfoil backup create` made.",
    ),
    ErrorCode(
        "no_marker_place",
        "There is no outside place for the marker: {problem}.",
        "Set COUNTERFOIL_STATE to a folder outside the database's, best on another volume.",
    ),
    ErrorCode(
        "not_suspended",
        "Nothing is suspended there: {what}.",
        "See `counterfoil writes status`; nothing was changed.",
    ),
    ErrorCode(
        "credential_missing",
        "The credential {where} cannot be read: {problem}.",
        "Nothing was sent with it. Put it in place; what waits goes on.",
    ),
    ErrorCode(
        "not_paused",
        "The receiver {receiver} is not paused.",
        "See `counterfoil receivers status`; nothing was changed.",
    ),
)
