-- What somebody must look at next.

-- name: claimable
-- runs whose time has come and that no living lease holds, by the index on due_at
SELECT run_id FROM runs
WHERE due_at IS NOT NULL AND due_at <= :now AND (lease_until IS NULL OR lease_until <= :now)
ORDER BY due_at LIMIT :limit;

-- name: next_due
-- when the next run is due
SELECT min(due_at) FROM runs WHERE due_at IS NOT NULL;

-- name: unresolved_operations
-- operations whose outcome is not known
SELECT * FROM operations WHERE status IN ('in_flight', 'unknown') ORDER BY number;

-- name: open_reviews
-- reviews that wait for an answer, the earliest deadline first
SELECT * FROM reviews WHERE state = 'open' ORDER BY expires_at, number;
