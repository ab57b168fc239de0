-- What a lost history may have sent for: runs that were there when a restore was finished, and runs that only the outside knows.
ALTER TABLE runs ADD COLUMN known_from INTEGER;
ALTER TABLE installation ADD COLUMN lost_until INTEGER;
ALTER TABLE installation ADD COLUMN cloned_at INTEGER;

CREATE TABLE lost_runs (
    run_id TEXT PRIMARY KEY,
    lost_from INTEGER NOT NULL
) STRICT;
