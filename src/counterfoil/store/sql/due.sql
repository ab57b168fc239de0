-- What somebody must look at next.

-- name: claimable
-- runs whose time has come and that no living lease holds, by the index on due_at
SELECT run_id FROM runs
WHERE due_at IS NOT NULL AND due_at <= :now AND (lease_until IS NULL OR lease_until <= :now)
ORDER BY due_at LIMIT :limit;

-- name: claimable_of
-- the same of these versions of workflows alone: those that a worker has
SELECT run_id FROM runs
WHERE due_at IS NOT NULL AND due_at <= :now AND (lease_until IS NULL OR lease_until <= :now)
  AND workflow || '/' || workflow_version IN (SELECT value FROM json_each(:versions))
ORDER BY due_at LIMIT :limit;

-- name: claimable_elsewhere
-- the same of all other versions: somebody must see that nobody has them
SELECT run_id FROM runs
WHERE due_at IS NOT NULL AND due_at <= :now AND (lease_until IS NULL OR lease_until <= :now)
  AND workflow || '/' || workflow_version NOT IN (SELECT value FROM json_each(:versions))
ORDER BY due_at LIMIT :limit;

-- name: held_pools
-- the pools that a run waits for, each found by one step in the index
WITH RECURSIVE pools (pool) AS (
    SELECT min(held_for) FROM runs WHERE held_for IS NOT NULL
    UNION ALL
    SELECT (SELECT min(runs.held_for) FROM runs WHERE runs.held_for > pools.pool) FROM pools WHERE pools.pool IS NOT NULL
)
SELECT pool FROM pools WHERE pool IS NOT NULL;

-- name: held_for
-- the runs of these versions that wait for a pool, the longest first
SELECT run_id FROM runs
WHERE held_for = :pool AND state IN ('pending', 'waiting')
  AND workflow || '/' || workflow_version IN (SELECT value FROM json_each(:versions))
ORDER BY due_at LIMIT :limit;

-- name: count_held
-- how many runs wait for a pool, of any version
SELECT count(*) FROM (SELECT run_id FROM runs WHERE held_for = :pool AND state IN ('pending', 'waiting') LIMIT :limit) AS held;

-- name: next_due
-- when the next run is due
SELECT min(due_at) FROM runs WHERE due_at IS NOT NULL;

-- name: unresolved_operations
-- operations whose outcome is not known
SELECT * FROM operations WHERE status IN ('in_flight', 'unknown') ORDER BY number;

-- name: open_reviews
-- reviews that wait for an answer, the earliest deadline first
SELECT * FROM reviews WHERE state = 'open' ORDER BY expires_at, number;
