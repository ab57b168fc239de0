-- Conversations: an accepted message is a run, and one that came early waits for the run before it.
ALTER TABLE runs ADD COLUMN after_run_id TEXT;
CREATE INDEX runs_after_run_id ON runs (after_run_id) WHERE after_run_id IS NOT NULL;

-- What was said belongs to a conversation; each accepted message is a turn, and each turn is a run.
CREATE TABLE conversations (
    conversation_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    parent_id TEXT REFERENCES conversations,
    parent_run_id TEXT,
    head_run_id TEXT,
    next_kind TEXT NOT NULL CHECK (next_kind IN ('message', 'reset', 'handoff')),
    turns INTEGER NOT NULL,
    settings TEXT NOT NULL,
    settings_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    CHECK ((parent_id IS NULL) = (parent_run_id IS NULL))
) STRICT;

CREATE TABLE turns (
    run_id TEXT PRIMARY KEY REFERENCES runs,
    conversation_id TEXT NOT NULL REFERENCES conversations,
    n INTEGER NOT NULL,
    prior_run_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('message', 'reset', 'handoff', 'compaction', 'steer', 'imported')),
    into_run_id TEXT,
    UNIQUE (conversation_id, n),
    CHECK ((kind = 'steer') = (into_run_id IS NOT NULL))
) STRICT;

CREATE INDEX turns_prior_run_id ON turns (prior_run_id) WHERE prior_run_id IS NOT NULL;

-- What a person does to a conversation is an act, too.
DROP INDEX entries_acts;
DROP INDEX entries_by;

CREATE INDEX entries_acts ON entries (at) WHERE position IS NULL AND kind IN (
    'submitted', 'answer', 'withdrawn', 'resolved', 'incident_closed', 'resumed', 'cancel_asked', 'tended', 'person', 'writes',
    'restore', 'grant', 'token', 'identity', 'approval_key', 'signed_in', 'imported', 'worker', 'looked_up', 'signal',
    'drill', 'waiver', 'budget', 'conversation'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal', 'drill', 'conversation')
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
    'drill', 'waiver', 'budget', 'conversation'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal', 'drill', 'conversation')
    OR json_extract(body, '$.data.by') IS NOT NULL
);
