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

-- name: unnoticed
-- what needs a person and was told to nobody since it began to wait: by partial indexes, and one look for each
SELECT subject FROM (
    SELECT review_id AS subject, opened_at AS since_at FROM reviews INDEXED BY reviews_open WHERE state = 'open'
    UNION ALL
    SELECT run_id, coalesce(waiting_since, updated_at) FROM runs INDEXED BY runs_parked WHERE state = 'parked'
    UNION ALL
    SELECT incident_id, opened_at FROM incidents INDEXED BY incidents_open WHERE closed_at IS NULL
) AS waits
WHERE NOT EXISTS (SELECT 1 FROM notices WHERE notices.subject = waits.subject AND notices.since_at = waits.since_at)
LIMIT :limit;

-- name: told_and_over
-- webhooks that were told that something needs a person, where it no longer does and they were not told that
SELECT e.* FROM notices AS e INDEXED BY notices_entered
WHERE e.channel = 'webhook' AND e.what = 'entered' AND e.made_at > :since
    AND NOT EXISTS (
        SELECT 1 FROM notices AS l
        WHERE l.subject = e.subject AND l.since_at = e.since_at AND l.what = 'left' AND l.recipient = e.recipient)
    AND NOT EXISTS (SELECT 1 FROM reviews AS r WHERE r.review_id = e.subject AND r.state = 'open')
    AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.run_id = e.subject AND r.state = 'parked'
        AND coalesce(r.waiting_since, r.updated_at) = e.since_at)
    AND NOT EXISTS (SELECT 1 FROM incidents AS i WHERE i.incident_id = e.subject AND i.closed_at IS NULL)
LIMIT :limit;
