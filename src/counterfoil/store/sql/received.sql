-- What receivers sent by themselves, and what is counted at them after an operation was closed.

-- name: due_deliveries
-- messages of receivers that are to be matched, the longest due first
SELECT delivery_id FROM deliveries WHERE next_at IS NOT NULL AND next_at <= :now ORDER BY next_at LIMIT :limit;

-- name: list_deliveries
-- messages of receivers, newest first
SELECT * FROM deliveries
WHERE (:before IS NULL OR number < :before) AND (:receiver IS NULL OR receiver = :receiver)
ORDER BY number DESC LIMIT :limit;

-- name: list_orphans
-- those that name nothing of ours and that no person has weighed, by the index on them
SELECT * FROM deliveries
WHERE state = 'orphan' AND closed_at IS NULL AND (:before IS NULL OR number < :before)
  AND (:receiver IS NULL OR receiver = :receiver)
ORDER BY number DESC LIMIT :limit;

-- name: orphans_by_receiver
-- how many orphans nobody has weighed
SELECT receiver, count(*) FROM deliveries WHERE state = 'orphan' AND closed_at IS NULL GROUP BY receiver;

-- name: delivery_named
-- one delivery by its id, the start of it, or its number
SELECT * FROM deliveries
WHERE (delivery_id >= :text AND delivery_id < :text_end) OR number = :number ORDER BY number LIMIT :limit;

-- name: to_enrol
-- operations that were sent and closed since :since and that no sweep knows, the longest closed first
SELECT * FROM operations
WHERE closed_at IS NOT NULL AND closed_at >= :since AND sent = 1 AND reused_from IS NULL
  AND NOT EXISTS (SELECT 1 FROM sweeps WHERE sweeps.operation_id = operations.operation_id)
ORDER BY closed_at LIMIT :limit;

-- name: due_sweeps
-- what is to be counted at its receiver by code that knows these operations, the longest due first
SELECT * FROM sweeps
WHERE next_at IS NOT NULL AND next_at <= :now AND receiver = :receiver AND name IN (SELECT value FROM json_each(:names))
ORDER BY next_at LIMIT :limit;

-- name: sweeps_again
-- what no question since :before has counted, due or not, the longest ago first
SELECT * FROM sweeps
WHERE receiver = :receiver AND name IN (SELECT value FROM json_each(:names)) AND (asked_at IS NULL OR asked_at < :before)
ORDER BY coalesce(asked_at, 0), closed_at LIMIT :limit;

-- name: sweep_notices
-- what was counted and is too little for an incident, the newest first
SELECT * FROM sweeps WHERE notice IS NOT NULL ORDER BY asked_at DESC LIMIT :limit;
