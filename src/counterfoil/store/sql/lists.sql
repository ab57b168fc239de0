-- Lists for people: newest first, from the number :before downwards (NULL: from the top).
-- :workflows is a JSON list of the workflows that may be seen, :places one of [workflow, operation], null in it for any.
-- NULL for either: everything may be seen.

-- name: list_runs
-- runs of every state, optionally of one workflow or one park reason
SELECT * FROM runs
WHERE (:before IS NULL OR number < :before)
  AND (:workflow IS NULL OR workflow = :workflow)
  AND (:reason IS NULL OR reason = :reason)
  AND (:workflows IS NULL OR workflow IN (SELECT value FROM json_each(:workflows)))
ORDER BY number DESC LIMIT :limit;

-- name: list_runs_in_state
-- runs of one state, found by the index on it
SELECT * FROM runs
WHERE state = :state AND number < coalesce(:before, 9223372036854775807)
  AND (:workflow IS NULL OR workflow = :workflow)
  AND (:reason IS NULL OR reason = :reason)
  AND (:workflows IS NULL OR workflow IN (SELECT value FROM json_each(:workflows)))
ORDER BY number DESC LIMIT :limit;

-- name: list_operations
-- operations of every status, optionally of one receiver
SELECT * FROM operations
WHERE (:before IS NULL OR number < :before)
  AND (:receiver IS NULL OR receiver = :receiver)
  AND (:places IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:places) AS place JOIN runs ON runs.run_id = operations.run_id
    WHERE coalesce(place.value ->> 0, runs.workflow) = runs.workflow
      AND coalesce(place.value ->> 1, operations.name) = operations.name))
ORDER BY number DESC LIMIT :limit;

-- name: list_operations_with_status
-- operations of one status, found by the index on it
SELECT * FROM operations
WHERE status = :status AND number < coalesce(:before, 9223372036854775807)
  AND (:receiver IS NULL OR receiver = :receiver)
  AND (:places IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:places) AS place JOIN runs ON runs.run_id = operations.run_id
    WHERE coalesce(place.value ->> 0, runs.workflow) = runs.workflow
      AND coalesce(place.value ->> 1, operations.name) = operations.name))
ORDER BY number DESC LIMIT :limit;

-- name: list_reviews
-- reviews of every state
SELECT * FROM reviews
WHERE (:before IS NULL OR number < :before)
  AND (:places IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:places) AS place JOIN runs ON runs.run_id = reviews.run_id JOIN operations ON operations.operation_id = reviews.operation_id
    WHERE coalesce(place.value ->> 0, runs.workflow) = runs.workflow
      AND coalesce(place.value ->> 1, operations.name) = operations.name))
ORDER BY number DESC LIMIT :limit;

-- name: list_reviews_in_state
-- reviews of one state, found by the index on it
SELECT * FROM reviews
WHERE state = :state AND number < coalesce(:before, 9223372036854775807)
  AND (:places IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:places) AS place JOIN runs ON runs.run_id = reviews.run_id JOIN operations ON operations.operation_id = reviews.operation_id
    WHERE coalesce(place.value ->> 0, runs.workflow) = runs.workflow
      AND coalesce(place.value ->> 1, operations.name) = operations.name))
ORDER BY number DESC LIMIT :limit;

-- name: list_incidents
-- incidents, open and closed
SELECT * FROM incidents
WHERE (:before IS NULL OR number < :before)
  AND (:places IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:places) AS place JOIN runs ON runs.run_id = incidents.run_id JOIN operations ON operations.operation_id = incidents.operation_id
    WHERE coalesce(place.value ->> 0, runs.workflow) = runs.workflow
      AND coalesce(place.value ->> 1, operations.name) = operations.name))
ORDER BY number DESC LIMIT :limit;

-- name: list_open_incidents
-- incidents that freeze a business key now
SELECT * FROM incidents
WHERE closed_at IS NULL AND (:before IS NULL OR number < :before)
  AND (:places IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:places) AS place JOIN runs ON runs.run_id = incidents.run_id JOIN operations ON operations.operation_id = incidents.operation_id
    WHERE coalesce(place.value ->> 0, runs.workflow) = runs.workflow
      AND coalesce(place.value ->> 1, operations.name) = operations.name))
ORDER BY number DESC LIMIT :limit;

-- name: list_signals
-- signals in the order in which they came; the first column is the cursor
SELECT rowid, run_id, signal_id, name, payload, payload_digest, at, taken_by FROM signals
WHERE (:before IS NULL OR rowid < :before) AND (:run_id IS NULL OR run_id = :run_id)
  AND (:workflows IS NULL OR (SELECT workflow FROM runs WHERE runs.run_id = signals.run_id) IN (
    SELECT value FROM json_each(:workflows)))
ORDER BY rowid DESC LIMIT :limit;

-- name: list_conversations
-- conversations with every agent that may be seen
SELECT * FROM conversations
WHERE number < coalesce(:before, 9223372036854775807)
  AND (:workflows IS NULL OR agent IN (SELECT value FROM json_each(:workflows)))
ORDER BY number DESC LIMIT :limit;

-- name: list_documents
-- working context with a type, begun by a workflow that may be seen
SELECT * FROM typed_documents
WHERE number < coalesce(:before, 9223372036854775807)
  AND (:workflows IS NULL OR workflow IN (SELECT value FROM json_each(:workflows)))
ORDER BY number DESC LIMIT :limit;

-- name: list_budgets
-- what runs share
SELECT * FROM budgets
WHERE number < coalesce(:before, 9223372036854775807) AND scope <> 'run'
ORDER BY number DESC LIMIT :limit;

-- name: list_budgets_of
-- budgets of one scope
SELECT * FROM budgets
WHERE number < coalesce(:before, 9223372036854775807) AND scope = :scope
ORDER BY number DESC LIMIT :limit;

-- name: list_people
-- everybody, the revoked too
SELECT * FROM people ORDER BY name;

-- name: list_suspensions
-- the newest suspension of each scope, the lifted too
SELECT * FROM suspensions ORDER BY at DESC, scope;

-- name: list_workers
-- all workers, the newest first
SELECT * FROM workers ORDER BY started_at DESC, worker_id;
