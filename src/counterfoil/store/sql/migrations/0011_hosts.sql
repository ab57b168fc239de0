-- Hosts that work with this ledger, each with an outside marker of its own.
CREATE TABLE hosts (
    host_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    machine TEXT NOT NULL,
    line INTEGER NOT NULL,
    asked_at INTEGER,
    vouched_by TEXT,
    known_at INTEGER
) STRICT;
