-- Unattended writes need a passing drill, or a named person's waiver with an end.

-- What was rehearsed: the newest passing drill of an operation, a contract and a workflow's version.
CREATE TABLE drills (
    operation TEXT NOT NULL,
    contract_digest TEXT NOT NULL,
    workflow TEXT NOT NULL,
    workflow_version INTEGER NOT NULL,
    target TEXT NOT NULL,
    target_digest TEXT NOT NULL,
    seed INTEGER NOT NULL,
    cases INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    not_applicable INTEGER NOT NULL,
    not_run INTEGER NOT NULL,
    "by" TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (operation, contract_digest, workflow, workflow_version)
) STRICT;

-- Who lets an operation be sent without a drill, and until when: one of an operation, which another replaces.
CREATE TABLE waivers (
    operation TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    "by" TEXT NOT NULL,
    at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL CHECK (ends_at > at),
    revoked_at INTEGER,
    revoked_by TEXT
) STRICT;

-- Drills and waivers are acts of people, too.
DROP INDEX entries_acts;
DROP INDEX entries_by;

CREATE INDEX entries_acts ON entries (at) WHERE position IS NULL AND kind IN (
    'submitted', 'answer', 'withdrawn', 'resolved', 'incident_closed', 'resumed', 'cancel_asked', 'tended', 'person', 'writes',
    'restore', 'grant', 'token', 'identity', 'approval_key', 'signed_in', 'imported', 'worker', 'looked_up', 'signal',
    'drill', 'waiver'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal', 'drill')
    OR json_extract(body, '$.data.by') IS NOT NULL
);
CREATE INDEX entries_by ON entries (
    coalesce(
        json_extract(body, '$.data.by'), json_extract(body, '$.data.person'),
        CASE WHEN kind IN ('signed_in', 'identity') THEN name END
    ),
    at
)
WHERE position IS NULL AND kind IN (
    'submitted', 'answer', 'withdrawn', 'resolved', 'incident_closed', 'resumed', 'cancel_asked', 'tended', 'person', 'writes',
    'restore', 'grant', 'token', 'identity', 'approval_key', 'signed_in', 'imported', 'worker', 'looked_up', 'signal',
    'drill', 'waiver'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal', 'drill')
    OR json_extract(body, '$.data.by') IS NOT NULL
);
