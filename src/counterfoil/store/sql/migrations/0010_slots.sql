-- How many runs and attempts may be under way at once, and how many in a time, over all workers.
ALTER TABLE runs ADD COLUMN held_for TEXT;
ALTER TABLE runs ADD COLUMN slots TEXT;
ALTER TABLE workers ADD COLUMN queues TEXT;

CREATE INDEX runs_held_for ON runs (held_for, due_at) WHERE held_for IS NOT NULL;

CREATE TABLE slots (
    pool TEXT NOT NULL,
    holder TEXT NOT NULL,
    run_id TEXT NOT NULL,
    until INTEGER,
    PRIMARY KEY (pool, holder)
) STRICT;

CREATE TABLE taps (
    receiver TEXT PRIMARY KEY,
    next_at INTEGER NOT NULL,
    closed_until INTEGER,
    closed_by INTEGER
) STRICT;
