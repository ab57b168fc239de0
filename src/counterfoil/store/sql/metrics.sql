-- What is counted. The first four by index only: what has ended costs nothing here.

-- name: unresolved_by_operation
-- operations that are unknown, or in flight past their newest attempt's deadline, and since when the oldest is
SELECT o.receiver, o.name, count(*), min(coalesce(
    o.doubt_at,
    CASE WHEN r.lease_until <= :now THEN r.lease_until END,
    a.deadline_at, o.first_sent_at, o.prepared_at))
FROM operations AS o INDEXED BY operations_open
    LEFT JOIN attempts AS a ON a.operation_id = o.operation_id AND a.n = o.attempts
    LEFT JOIN runs AS r ON r.run_id = o.run_id
WHERE o.status IN ('in_flight', 'unknown') AND (o.status = 'unknown' OR a.deadline_at <= :now)
GROUP BY o.receiver, o.name;

-- name: open_reviews_by_role
-- when each open review was opened, the longest open first
SELECT role, opened_at FROM reviews INDEXED BY reviews_open_role WHERE state = 'open' ORDER BY role, opened_at;

-- name: parked_by_reason
-- how many runs are parked, and why
SELECT reason, count(*) FROM runs INDEXED BY runs_parked_reason WHERE state = 'parked' GROUP BY reason;

-- name: open_by_version
-- how many runs of each version have not ended, by state
SELECT workflow, workflow_version, state, count(*) FROM runs WHERE state IN ('pending', 'running', 'waiting', 'parked')
GROUP BY workflow, workflow_version, state ORDER BY workflow, workflow_version, state;

-- name: open_incidents
-- how many incidents wait for a person
SELECT count(*) FROM incidents INDEXED BY incidents_open WHERE closed_at IS NULL;

-- name: steps_between
-- how many steps ended in a stretch of the journal
SELECT count(*) FROM entries WHERE ordinal > :after AND ordinal <= :upto AND kind IN ('step', 'step_failed');

-- name: counted_between
-- the entries of a stretch of the journal that a metric may count: all but the many that none does
SELECT run_id, sequence, kind, position, name, body, at, digest FROM entries
WHERE ordinal > :after AND ordinal <= :upto
    AND kind NOT IN ('step', 'step_failed', 'try_failed', 'message', 'document', 'asked', 'timer', 'submitted')
ORDER BY ordinal;

-- name: open_spans
-- the stretches of one sort that have begun and not ended
SELECT * FROM spans INDEXED BY spans_open WHERE what = :what AND ended_at IS NULL ORDER BY began_at, span_id;

-- name: samples_since
-- one metric's samples, in order
SELECT * FROM samples WHERE metric = :metric AND at >= :since ORDER BY labels, at;

-- name: samples_to_thin
-- samples older than a day that are not a quarter hour's, and all that are older than a week
SELECT metric, labels, at FROM samples INDEXED BY samples_at
WHERE at < :day AND (at < :week OR at % 900000000 <> 0) ORDER BY at LIMIT :limit;

-- name: spans_to_forget
-- stretches that ended long ago
SELECT span_id FROM spans INDEXED BY spans_ended_at WHERE ended_at < :before ORDER BY ended_at LIMIT :limit;

-- name: talked_between
-- entries of turns, each a conversation's up to one of its turns: (ordinal, entry). A stretch of the journal is looked through
SELECT entries.ordinal, entries.run_id, entries.sequence, entries.kind, entries.position, entries.name, entries.body, entries.at, entries.digest
FROM entries CROSS JOIN turns ON turns.run_id = entries.run_id
WHERE entries.ordinal > :after AND entries.ordinal <= :upto AND EXISTS (
    SELECT 1 FROM json_each(:talks) AS talk WHERE turns.conversation_id = talk.value ->> 0 AND turns.n <= talk.value ->> 1)
ORDER BY entries.ordinal;

-- name: entries_between
-- a stretch of the journal, whole
SELECT run_id, sequence, kind, position, name, body, at, digest FROM entries
WHERE ordinal > :after AND ordinal <= :upto ORDER BY ordinal;
