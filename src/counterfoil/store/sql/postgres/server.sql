-- What only a server has: who it is, its lock, its clock, and its answer to a COMMIT that may get lost.

-- name: server
-- what is at an address, before anything of ours is used there; what extensions brought does not count as somebody's tables
-- only here because: a file says by itself what it is
SELECT current_setting('server_version_num')::bigint, current_setting('server_version'), current_setting('server_encoding'),
    pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean, chosen.schema,
    to_regclass(quote_ident(chosen.schema) || '.counterfoil_schema') IS NOT NULL,
    (
        SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = chosen.schema AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
            AND NOT EXISTS (SELECT 1 FROM pg_depend AS d WHERE d.objid = c.oid AND d.deptype = 'e')
    ),
    (SELECT system_identifier FROM pg_control_system())::text, (SELECT oid FROM pg_database WHERE datname = current_database())::bigint,
    CASE WHEN pg_is_in_recovery() THEN 0 ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END,
    current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_write', 'remote_apply')
FROM (SELECT coalesce(:schema, current_schema())::text AS schema) AS chosen;

-- name: schema_version
-- which schema of ours is there
-- only here because: SQLite keeps it in the header of the file
SELECT application, version FROM counterfoil_schema;

-- name: keep_schema_version
-- the schema that has just been made, or migrated to
-- only here because: as above
INSERT INTO counterfoil_schema (application, version) VALUES (:application, :version)
ON CONFLICT (application) DO UPDATE SET version = excluded.version;

-- name: take_turn
-- the limits of this transaction alone, then the lock of all batches of this ledger: the limits hold while it is waited for.
-- Whoever turned the flush of commits off did not mean this ledger; every other choice is the administrator's
-- only here because: SQLite has one writer by itself
SELECT set_config('search_path', :path, true), set_config('lock_timeout', :wait, true),
    set_config('idle_in_transaction_session_timeout', :frozen, true), set_config('statement_timeout', :statement, true),
    set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true),
    CASE WHEN current_setting('server_version_num')::bigint >= 170000 THEN set_config('transaction_timeout', :statement, true) END,
    pg_advisory_xact_lock(:key);

-- name: standing
-- the server's timeline, which a promotion or a recovery to an earlier time raises, and whether commits wait for a standby; behind the lock
-- only here because: a file has no standby
SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END,
    current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_write', 'remote_apply');

-- name: installation_now
-- the time, read after the lock, and the one row beside it
-- only here because: on SQLite the clock is the host's
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, installation.*
FROM (SELECT 1) AS once LEFT JOIN installation ON true;

-- name: keep_writer
-- this batch's own row, by which its writer knows whether its COMMIT took place
-- only here because: a file's COMMIT is answered or its process is gone
INSERT INTO writers (writer_id, n, at) VALUES (:writer_id, :n, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (writer_id) DO UPDATE SET n = excluded.n, at = excluded.at;

-- name: forget_writers
-- rows of writers that have not written for a week: nobody waits for an answer so long
-- only here because: as above
DELETE FROM writers WHERE at < floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 604800000000;

-- name: writer
-- how far the commits of a writer have come
-- only here because: as above
SELECT n FROM writers WHERE writer_id = :writer_id;

-- name: batches
-- how many batches were committed, by whomever
-- only here because: SQLite counts the commits of others by itself
SELECT batches FROM installation;

-- name: ledger_there
-- whether a ledger that lay in a database of this server still does, as far as it can be seen from here
-- only here because: a file is looked for by its path
SELECT CASE WHEN :oid = :own THEN to_regclass(:table) IS NOT NULL
    ELSE EXISTS (SELECT 1 FROM pg_database WHERE oid = :oid::bigint::oid) END;

-- name: ledgers_beside
-- the other schemas of this database that hold a ledger, and into which this role may look
-- only here because: a file holds one
SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relname = 'installation' AND c.relkind = 'r' AND n.nspname <> :own
    AND to_regclass(quote_ident(n.nspname) || '.counterfoil_schema') IS NOT NULL
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1;

-- name: alone
-- nobody else makes or migrates a schema in this database meanwhile
-- only here because: a file is locked as a whole
SELECT pg_advisory_xact_lock(:key);

-- name: new_writer
-- a name for a writer that nobody has had
-- only here because: as for its row
SELECT gen_random_uuid()::text;

-- name: settings
-- under which settings commits are kept, who copies them, and what the server's clock says. Who may not see the standbys sees none
-- only here because: SQLite's are pragmas of the connection
SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('wal_level'), current_setting('synchronous_standby_names'),
    pg_database_size(current_database()), floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    ARRAY(SELECT application_name || ' ' || coalesce(sync_state, 'unknown') FROM pg_stat_replication ORDER BY 1),
    inet_server_addr() IS NULL OR inet_server_addr() = coalesce(inet_client_addr(), inet_server_addr());

-- name: hold
-- a key for as long as this transaction is open, which nothing but its client's end is to close
-- only here because: a file's is a lock of the system beside it
SELECT set_config('idle_in_transaction_session_timeout', '0', true), pg_try_advisory_xact_lock(:key);

-- name: turn_free
-- whether the lock of all batches could be had at once
-- only here because: as for taking it
SELECT pg_try_advisory_xact_lock(:key);

-- name: end_silent_holder
-- ends whoever holds it and has said nothing for so long: a client that is frozen in the middle of what it sends is not seen by the
-- limit for idle transactions. One that waits for the disk or for a standby is never ended
-- only here because: the lock of a file ends with its process
SELECT pg_terminate_backend(a.pid)
FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.classid::bigint = :high AND l.objid::bigint = :low AND a.wait_event_type = 'Client'
    AND clock_timestamp() - greatest(a.query_start, a.state_change) > :least::interval;

-- name: turn_holders
-- who holds it: server process and client
-- only here because: as above
SELECT a.pid, coalesce(a.application_name, '') || ' at ' || coalesce(a.client_addr::text, 'this host')
FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.classid::bigint = :high AND l.objid::bigint = :low;

-- name: columns_to_copy
-- the columns of a table that rows are made of, and whether the server counts its rows by itself
-- only here because: rows are copied only where a backup is no file
SELECT array_agg(column_name::text ORDER BY ordinal_position) FILTER (WHERE is_identity = 'NO'), bool_or(is_identity = 'YES')
FROM information_schema.columns WHERE table_schema = :schema AND table_name = :table;
