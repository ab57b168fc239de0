-- Who did what: entries that a person caused, newest first. The conditions are those of the partial indexes.
-- `at` never goes back, so its order is the order of the commits.

-- name: list_acts
-- the acts of everybody
SELECT ordinal,
    coalesce(
        json_extract(body, '$.data.by'), json_extract(body, '$.data.person'),
        CASE WHEN kind IN ('signed_in', 'identity') THEN name END
    ) AS person,
    run_id, sequence, kind, position, name, body, at, digest
FROM entries INDEXED BY entries_acts
WHERE position IS NULL AND kind IN (
    'submitted', 'answer', 'withdrawn', 'resolved', 'incident_closed', 'resumed', 'cancel_asked', 'tended', 'person', 'writes',
    'restore', 'grant', 'token', 'identity', 'approval_key', 'signed_in', 'imported', 'worker', 'looked_up', 'signal',
    'drill', 'waiver', 'budget', 'conversation'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal', 'drill', 'conversation')
    OR json_extract(body, '$.data.by') IS NOT NULL
)
  AND (at, ordinal) < (:before_at, :before) AND at >= :since AND at < :until AND (:kind IS NULL OR kind = :kind)
ORDER BY at DESC, ordinal DESC LIMIT :limit;

-- name: list_acts_of
-- the acts of one person
SELECT ordinal,
    coalesce(
        json_extract(body, '$.data.by'), json_extract(body, '$.data.person'),
        CASE WHEN kind IN ('signed_in', 'identity') THEN name END
    ) AS person,
    run_id, sequence, kind, position, name, body, at, digest
FROM entries INDEXED BY entries_by
WHERE position IS NULL AND kind IN (
    'submitted', 'answer', 'withdrawn', 'resolved', 'incident_closed', 'resumed', 'cancel_asked', 'tended', 'person', 'writes',
    'restore', 'grant', 'token', 'identity', 'approval_key', 'signed_in', 'imported', 'worker', 'looked_up', 'signal',
    'drill', 'waiver', 'budget', 'conversation'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal', 'drill', 'conversation')
    OR json_extract(body, '$.data.by') IS NOT NULL
)
  AND coalesce(
    json_extract(body, '$.data.by'), json_extract(body, '$.data.person'),
    CASE WHEN kind IN ('signed_in', 'identity') THEN name END
  ) = :person
  AND (at, ordinal) < (:before_at, :before) AND at >= :since AND at < :until AND (:kind IS NULL OR kind = :kind)
ORDER BY at DESC, ordinal DESC LIMIT :limit;
