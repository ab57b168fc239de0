-- Counts and sums of operations by receiver, operation and currency, and what a statement is held against.

-- name: sums_closed
-- what was closed in a stretch of time, found by the index on the closing; what was answered from another's receipt moved nothing
SELECT receiver, name, currency, status, count(*), CAST(sum(amount_minor) AS BIGINT) FROM operations
WHERE closed_at >= :begin AND closed_at < :end AND reused_from IS NULL
GROUP BY receiver, name, currency, status;

-- name: sums_approved
-- the operations whose approval was decided in a stretch of time, each once, found by the index on the decision
SELECT receiver, name, currency, 'approved', count(*), CAST(sum(amount_minor) AS BIGINT) FROM operations
WHERE operation_id IN (
    SELECT operation_id FROM reviews WHERE decided_at >= :begin AND decided_at < :end AND state = 'approved'
)
GROUP BY receiver, name, currency;

-- name: sums_in_doubt
-- what was first sent in a stretch of time and is in doubt now, found by the index on open doubts
SELECT receiver, name, currency, 'unknown', count(*), CAST(sum(amount_minor) AS BIGINT) FROM operations
WHERE status IN ('in_flight', 'unknown') AND first_sent_at >= :begin AND first_sent_at < :end
GROUP BY receiver, name, currency;

-- name: succeeded_between
-- what a receiver must list in a stretch of time: sent and closed within it
SELECT * FROM operations
WHERE closed_at >= :begin AND closed_at <= :end AND first_sent_at >= :begin
  AND receiver = :receiver AND status = 'succeeded' AND reused_from IS NULL
ORDER BY number;
