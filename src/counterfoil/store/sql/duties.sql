-- What the installation does by itself.

-- name: heads_since
-- the newest entry of each chain that grew in a stretch of the journal, for the heads kept outside
SELECT entries.run_id, entries.sequence, entries.digest
FROM entries
JOIN (
    SELECT run_id, max(sequence) AS sequence FROM entries WHERE ordinal > :after AND ordinal <= :upto GROUP BY run_id
) AS newest ON newest.run_id = entries.run_id AND newest.sequence = entries.sequence
ORDER BY entries.ordinal;

-- name: newest_ordinal
-- how long the journal is
SELECT coalesce(max(ordinal), 0) FROM entries;

-- name: unsent_notices
-- notices that are due to be sent, the oldest first
SELECT * FROM notices WHERE next_try_at IS NOT NULL AND next_try_at <= :now ORDER BY next_try_at LIMIT :limit;

-- name: old_sessions
-- sessions that ended, or ran out, before a time
SELECT session_id FROM sessions WHERE coalesce(ended_at, expires_at) < :before LIMIT :limit;

-- name: old_notices
-- notices that were sent, or given up, before a time
SELECT notice_id FROM notices WHERE next_try_at IS NULL AND made_at < :before LIMIT :limit;

-- name: old_workers
-- workers that stopped before a time
SELECT worker_id FROM workers WHERE stopped_at IS NOT NULL AND stopped_at < :before LIMIT :limit;
