-- The installation, its counters and its marks.

-- name: installation
-- the one row, read with every batch
SELECT * FROM installation;

-- name: counters
-- the numbers that people see, read with every batch
SELECT what, value FROM counters;

-- name: keep_counter
-- a counter's new value
INSERT INTO counters (what, value) VALUES (?, ?) ON CONFLICT (what) DO UPDATE SET value = excluded.value;

-- name: keep_mark
-- the rolling digest at a commit that sent or forbade sending
INSERT INTO marks (batch, rolling) VALUES (?, ?);

-- name: rolling_at
-- the rolling digest at such a commit
SELECT rolling FROM marks WHERE batch = :batch;

-- name: newest_mark
-- what the outside marker must hold
SELECT installation_id, incarnation, in_flight_batch, marks.rolling
FROM installation LEFT JOIN marks ON marks.batch = installation.in_flight_batch;
