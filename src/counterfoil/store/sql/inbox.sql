-- What needs a person. Four sources with the same columns, each in the order of (deadline_at, subject) by a partial index, so
-- that nothing here grows with what has ended. `store/reader_inbox.py` filters, merges and counts them.
-- The index is named: the planner would take the one on state, and sort.
-- Who has taken a thing, that it was put off or escalated: it holds for this wait only, not for one that was over before.

-- name: inbox_reviews
-- reviews that wait for an answer; the run that waits for one is the same thing
SELECT 'review' AS kind, r.review_id AS subject, r.number AS number, r.run_id AS run_id, r.operation_id AS operation_id,
    CASE r.kind WHEN 'renewal' THEN 'renewal' ELSE 'review' END AS reason,
    r.role AS role, r.owner AS owner, r.owner_then AS owner_then, r.opened_at AS since_at, r.expires_at AS deadline_at,
    CASE WHEN gone.name IS NULL AND t.taken_at >= r.opened_at THEN t.taken_by END AS taken_by,
    CASE WHEN t.snoozed_at >= r.opened_at AND t.snoozed_until > :now THEN t.snoozed_until END AS snoozed_until,
    t.snooze_reason AS snooze_reason,
    CASE WHEN t.escalated_at >= r.opened_at THEN t.escalated_to END AS escalated_to,
    (SELECT count(*) FROM comments AS c WHERE c.subject = r.review_id) AS comments,
    runs.number AS run_number, runs.workflow AS workflow, runs.request_id AS request_id, runs.state AS run_state,
    o.number AS operation_number, o.name AS operation, o.status AS operation_status, o.receiver AS receiver, o.business_key AS business_key,
    o.target AS target, o.amount_minor AS amount_minor, o.currency AS currency
FROM reviews AS r INDEXED BY reviews_open
    LEFT JOIN runs ON runs.run_id = r.run_id
    LEFT JOIN operations AS o ON o.operation_id = r.operation_id
    LEFT JOIN tending AS t ON t.subject = r.review_id
    LEFT JOIN people AS gone ON gone.name = t.taken_by AND gone.revoked_at IS NOT NULL
WHERE r.state = 'open';

-- name: inbox_parked
-- runs that stopped with a reason, with the operation they stopped for; not those whose open incident says it already
SELECT 'run' AS kind, r.run_id AS subject, r.number AS number, r.run_id AS run_id, o.operation_id AS operation_id,
    r.reason AS reason, o.owner AS role, r.owner AS owner, r.owner_then AS owner_then,
    coalesce(r.waiting_since, r.updated_at) AS since_at, r.deadline_at AS deadline_at,
    CASE WHEN gone.name IS NULL AND t.taken_at >= coalesce(r.waiting_since, r.updated_at) THEN t.taken_by END AS taken_by,
    CASE WHEN t.snoozed_at >= coalesce(r.waiting_since, r.updated_at) AND t.snoozed_until > :now
        THEN t.snoozed_until END AS snoozed_until,
    t.snooze_reason AS snooze_reason,
    CASE WHEN t.escalated_at >= coalesce(r.waiting_since, r.updated_at) THEN t.escalated_to END AS escalated_to,
    (SELECT count(*) FROM comments AS c WHERE c.subject = r.run_id) AS comments,
    r.number AS run_number, r.workflow AS workflow, r.request_id AS request_id, r.state AS run_state,
    o.number AS operation_number, o.name AS operation, o.status AS operation_status, o.receiver AS receiver, o.business_key AS business_key,
    o.target AS target, o.amount_minor AS amount_minor, o.currency AS currency
FROM runs AS r INDEXED BY runs_parked
    LEFT JOIN operations AS o ON o.operation_id = (
        SELECT w.operation_id FROM operations AS w
        WHERE w.run_id = r.run_id AND w.status NOT IN ('succeeded', 'failed')
        ORDER BY coalesce(w.reason, '') <> r.reason, w.sent = 0, w.number LIMIT 1)
    LEFT JOIN tending AS t ON t.subject = r.run_id
    LEFT JOIN people AS gone ON gone.name = t.taken_by AND gone.revoked_at IS NOT NULL
WHERE r.state = 'parked' AND (r.reason <> 'duplicate_found'
    OR NOT EXISTS (SELECT 1 FROM incidents AS i WHERE i.run_id = r.run_id AND i.closed_at IS NULL));

-- name: inbox_incidents
-- where a receiver contradicts the ledger, until a person has weighed it: there is a day for that
SELECT 'incident' AS kind, i.incident_id AS subject, i.number AS number, i.run_id AS run_id, i.operation_id AS operation_id,
    'incident' AS reason, o.owner AS role, coalesce(o.owner, runs.owner) AS owner, runs.owner_then AS owner_then,
    i.opened_at AS since_at, i.opened_at + 86400000000 AS deadline_at,
    CASE WHEN gone.name IS NULL AND t.taken_at >= i.opened_at THEN t.taken_by END AS taken_by,
    CASE WHEN t.snoozed_at >= i.opened_at AND t.snoozed_until > :now THEN t.snoozed_until END AS snoozed_until,
    t.snooze_reason AS snooze_reason,
    CASE WHEN t.escalated_at >= i.opened_at THEN t.escalated_to END AS escalated_to,
    (SELECT count(*) FROM comments AS c WHERE c.subject = i.incident_id) AS comments,
    runs.number AS run_number, runs.workflow AS workflow, runs.request_id AS request_id, runs.state AS run_state,
    o.number AS operation_number, o.name AS operation, o.status AS operation_status, o.receiver AS receiver, o.business_key AS business_key,
    o.target AS target, o.amount_minor AS amount_minor, o.currency AS currency
FROM incidents AS i INDEXED BY incidents_due
    LEFT JOIN runs ON runs.run_id = i.run_id
    LEFT JOIN operations AS o ON o.operation_id = i.operation_id
    LEFT JOIN tending AS t ON t.subject = i.incident_id
    LEFT JOIN people AS gone ON gone.name = t.taken_by AND gone.revoked_at IS NOT NULL
WHERE i.closed_at IS NULL;

-- name: inbox_overdue
-- runs past their deadline that nothing has parked yet, under the reason that a worker would park them for
SELECT 'run' AS kind, r.run_id AS subject, r.number AS number, r.run_id AS run_id, o.operation_id AS operation_id,
    CASE r.state WHEN 'pending' THEN 'no_worker' WHEN 'running' THEN 'no_progress' ELSE 'expired' END AS reason,
    o.owner AS role, r.owner AS owner, r.owner_then AS owner_then, r.deadline_at AS since_at, r.deadline_at AS deadline_at,
    CASE WHEN gone.name IS NULL AND t.taken_at >= r.deadline_at THEN t.taken_by END AS taken_by,
    NULL AS snoozed_until, NULL AS snooze_reason, CASE WHEN t.escalated_at >= r.deadline_at THEN t.escalated_to END AS escalated_to,
    (SELECT count(*) FROM comments AS c WHERE c.subject = r.run_id) AS comments,
    r.number AS run_number, r.workflow AS workflow, r.request_id AS request_id, r.state AS run_state,
    o.number AS operation_number, o.name AS operation, o.status AS operation_status, o.receiver AS receiver, o.business_key AS business_key,
    o.target AS target, o.amount_minor AS amount_minor, o.currency AS currency
FROM runs AS r INDEXED BY runs_unended
    LEFT JOIN operations AS o ON o.operation_id = (
        SELECT w.operation_id FROM operations AS w
        WHERE w.run_id = r.run_id AND w.status NOT IN ('succeeded', 'failed')
        ORDER BY w.sent = 0, w.number LIMIT 1)
    LEFT JOIN tending AS t ON t.subject = r.run_id
    LEFT JOIN people AS gone ON gone.name = t.taken_by AND gone.revoked_at IS NOT NULL
WHERE r.state IN ('pending', 'running', 'waiting') AND r.deadline_at <= :now
    AND NOT EXISTS (SELECT 1 FROM reviews AS v INDEXED BY reviews_run_id WHERE v.run_id = r.run_id AND v.state = 'open');
