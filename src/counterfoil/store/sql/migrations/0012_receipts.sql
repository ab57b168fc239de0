-- Receipts that come by themselves: what receivers send, and what is counted at them after an operation was closed.
CREATE TABLE deliveries (
    delivery_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    receiver TEXT NOT NULL,
    own_id TEXT NOT NULL,
    type TEXT,
    body TEXT NOT NULL,
    body_digest TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    operation_id TEXT,
    receipt_id TEXT,
    closed_at INTEGER,
    closed_by TEXT,
    reason TEXT,
    state TEXT NOT NULL CHECK (state IN ('stored', 'matched', 'orphan', 'other')),
    next_at INTEGER,
    tries INTEGER NOT NULL,
    seen INTEGER NOT NULL
) STRICT;

CREATE INDEX deliveries_body_digest ON deliveries (body_digest);
CREATE INDEX deliveries_operation_id ON deliveries (operation_id);
CREATE INDEX deliveries_next_at ON deliveries (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_orphans ON deliveries (number) WHERE state = 'orphan' AND closed_at IS NULL;

CREATE TABLE sweeps (
    operation_id TEXT PRIMARY KEY,
    receiver TEXT NOT NULL,
    name TEXT NOT NULL,
    closed_at INTEGER NOT NULL,
    next_at INTEGER,
    asked INTEGER NOT NULL,
    asked_at INTEGER,
    count INTEGER,
    since INTEGER,
    problem TEXT,
    notice TEXT
) STRICT;

CREATE INDEX sweeps_next_at ON sweeps (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX sweeps_notices ON sweeps (asked_at) WHERE notice IS NOT NULL;
