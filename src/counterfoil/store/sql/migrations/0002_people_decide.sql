-- People decide: roles and their grants, tokens, signed answers, the inbox, money, duties and what is counted.

ALTER TABLE runs ADD COLUMN submitted_by TEXT;
ALTER TABLE operations ADD COLUMN target TEXT;
ALTER TABLE operations ADD COLUMN amount_minor INTEGER;
ALTER TABLE operations ADD COLUMN currency TEXT;
ALTER TABLE operations ADD COLUMN doubt_at INTEGER;
ALTER TABLE reviews ADD COLUMN needed INTEGER NOT NULL DEFAULT 1;
ALTER TABLE answers ADD COLUMN key_id TEXT;
ALTER TABLE answers ADD COLUMN signature TEXT;
ALTER TABLE answers ADD COLUMN statement TEXT;
ALTER TABLE workers ADD COLUMN quiet INTEGER NOT NULL DEFAULT 0;

-- The inbox: what needs a person, by index only, however many runs have ended.
CREATE INDEX runs_parked ON runs (deadline_at, run_id) WHERE state = 'parked';
CREATE INDEX runs_unended ON runs (deadline_at, run_id) WHERE state IN ('pending', 'running', 'waiting');
CREATE INDEX reviews_open ON reviews (expires_at, review_id) WHERE state = 'open';
CREATE INDEX incidents_due ON incidents (opened_at + 86400000000, incident_id) WHERE closed_at IS NULL; -- a day to weigh one
CREATE INDEX operations_open ON operations (receiver, number) WHERE status IN ('in_flight', 'unknown');
CREATE INDEX reviews_decided_at ON reviews (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX operations_closed_at ON operations (closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX operations_target ON operations (target) WHERE target IS NOT NULL;

-- Who did what: the acts of people, newest first, and those of one person. What a program may do as well counts where a person is named.
CREATE INDEX entries_acts ON entries (at) WHERE position IS NULL AND kind IN (
    'submitted', 'answer', 'withdrawn', 'resolved', 'incident_closed', 'resumed', 'cancel_asked', 'tended', 'person', 'writes',
    'restore', 'grant', 'token', 'identity', 'approval_key', 'signed_in', 'imported', 'worker', 'looked_up', 'signal'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal')
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
    'restore', 'grant', 'token', 'identity', 'approval_key', 'signed_in', 'imported', 'worker', 'looked_up', 'signal'
) AND (
    kind NOT IN ('submitted', 'resumed', 'cancel_asked', 'tended', 'restore', 'looked_up', 'signal')
    OR json_extract(body, '$.data.by') IS NOT NULL
);

CREATE TABLE grants (
    grant_id TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    verb TEXT NOT NULL,
    workflow TEXT,
    operation TEXT,
    kind TEXT,
    up_to_minor INTEGER,
    currency TEXT,
    granted_by TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    CHECK ((up_to_minor IS NULL) = (currency IS NULL))
) STRICT;

CREATE TABLE tokens (
    token_id TEXT PRIMARY KEY,
    person TEXT NOT NULL REFERENCES people,
    name TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

CREATE INDEX tokens_person ON tokens (person);

CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES people,
    bound_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT;

CREATE INDEX identities_person ON identities (person);

CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    how TEXT NOT NULL CHECK (how IN ('secret', 'provider', 'token')),
    begun_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER,
    token_id TEXT
) STRICT;

CREATE INDEX sessions_person ON sessions (person);

CREATE TABLE approval_keys (
    key_id TEXT PRIMARY KEY,
    public_key TEXT NOT NULL,
    added_by TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    revoked_at INTEGER,
    signed_by TEXT,
    signature TEXT
) STRICT;

CREATE TABLE tending (
    subject TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    taken_by TEXT,
    taken_at INTEGER,
    snoozed_at INTEGER,
    snoozed_until INTEGER,
    snoozed_by TEXT,
    snooze_reason TEXT,
    escalated_to TEXT,
    escalated_at INTEGER
) STRICT;

CREATE INDEX tending_run_id ON tending (run_id);
CREATE INDEX tending_taken_by ON tending (taken_by) WHERE taken_by IS NOT NULL;

CREATE TABLE comments (
    comment_id TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    run_id TEXT NOT NULL,
    person TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX comments_subject ON comments (subject);
CREATE INDEX comments_run_id ON comments (run_id);

CREATE TABLE imports (
    import_id TEXT PRIMARY KEY,
    receiver TEXT NOT NULL,
    name TEXT NOT NULL,
    file_digest TEXT NOT NULL,
    "by" TEXT NOT NULL,
    at INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    matched INTEGER NOT NULL,
    resolved INTEGER NOT NULL
) STRICT;

CREATE TABLE statement_lines (
    import_id TEXT NOT NULL,
    line INTEGER NOT NULL,
    reference TEXT,
    amount_minor INTEGER,
    currency TEXT,
    at INTEGER,
    operation_id TEXT,
    result TEXT NOT NULL CHECK (result IN ('matched', 'resolved', 'theirs_not_ours', 'mismatch', 'several')),
    PRIMARY KEY (import_id, line)
) STRICT;

CREATE INDEX statement_lines_operation_id ON statement_lines (operation_id) WHERE operation_id IS NOT NULL;

-- What the installation does by itself: one holder of each duty.
CREATE TABLE duties (
    name TEXT PRIMARY KEY,
    holder TEXT,
    lease_until INTEGER,
    started_at INTEGER,
    succeeded_at INTEGER,
    problem TEXT,
    next_at INTEGER NOT NULL,
    mark INTEGER NOT NULL
) STRICT;

CREATE TABLE notices (
    notice_id TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    since_at INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    what TEXT NOT NULL,
    recipient TEXT NOT NULL,
    channel TEXT NOT NULL CHECK (channel IN ('apprise', 'webhook')),
    body TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    next_try_at INTEGER,
    tries INTEGER NOT NULL,
    sent_at INTEGER,
    problem TEXT
) STRICT;

CREATE INDEX notices_subject ON notices (subject, since_at);
CREATE INDEX notices_entered ON notices (made_at) WHERE channel = 'webhook' AND what = 'entered';
CREATE INDEX notices_next_try_at ON notices (next_try_at) WHERE next_try_at IS NOT NULL;

CREATE TABLE samples (
    metric TEXT NOT NULL,
    labels TEXT NOT NULL,
    at INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (metric, labels, at)
) STRICT;

CREATE INDEX samples_at ON samples (at);

CREATE TABLE spans (
    span_id TEXT PRIMARY KEY,
    what TEXT NOT NULL CHECK (what IN ('recovery', 'intervention')),
    label TEXT NOT NULL,
    run_id TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;

CREATE INDEX spans_run_id ON spans (run_id);
CREATE INDEX spans_ended_at ON spans (ended_at) WHERE ended_at IS NOT NULL;

-- What is counted: by index only, however many runs have ended.
CREATE INDEX runs_parked_reason ON runs (reason) WHERE state = 'parked';
CREATE INDEX reviews_open_role ON reviews (role, opened_at) WHERE state = 'open';
CREATE INDEX spans_open ON spans (what, run_id) WHERE ended_at IS NULL;

-- What was counted from the journal so far; the row `journal` says how far.
CREATE TABLE tallies (
    metric TEXT NOT NULL,
    labels TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (metric, labels)
) STRICT;

-- Views for reports, to be read by other programs. Times are RFC 3339 in UTC. No payload, input, result or comment is in them.
CREATE VIEW report_runs AS
SELECT run_id, number, workflow, workflow_version, request_id, state, reason, sentence, owner, submitted_by, crashes,
    spent_micros / 1000000.0 AS spent_usd, waited_us / 1000000.0 AS waited_seconds,
    strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000000.0, 'unixepoch') AS updated_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', deadline_at / 1000000.0, 'unixepoch') AS deadline_at
FROM runs;

CREATE VIEW report_operations AS
SELECT o.operation_id, o.number, o.run_id, r.number AS run_number, r.workflow, o.name AS operation, o.receiver, o.environment,
    o.action, o.business_key, o.occurrence, o.status, o.reason, o.sent, o.attempts, o.target, o.amount_minor, o.currency,
    o.payload_digest, o.case_letter, o.owner, c.how AS receipt_how, c.reference AS receipt_reference, c.proves AS receipt_proves,
    strftime('%Y-%m-%dT%H:%M:%fZ', o.prepared_at / 1000000.0, 'unixepoch') AS prepared_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', o.first_sent_at / 1000000.0, 'unixepoch') AS first_sent_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', o.closed_at / 1000000.0, 'unixepoch') AS closed_at
FROM operations AS o JOIN runs AS r ON r.run_id = o.run_id LEFT JOIN receipts AS c ON c.receipt_id = o.receipt_id;

CREATE VIEW report_reviews AS
SELECT v.review_id, v.number, v.run_id, v.operation_id, o.name AS operation, o.receiver, v.proposal_version, v.digest, v.kind,
    v.state, v.role, v.owner, v.reviewer, v.needed, v.used_by, o.amount_minor, o.currency,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.opened_at / 1000000.0, 'unixepoch') AS opened_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.decided_at / 1000000.0, 'unixepoch') AS decided_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.expires_at / 1000000.0, 'unixepoch') AS expires_at,
    (v.decided_at - v.opened_at) / 1000000.0 AS answered_in_seconds
FROM reviews AS v LEFT JOIN operations AS o ON o.operation_id = v.operation_id;

CREATE VIEW report_interventions AS
SELECT run_id, label AS reason, strftime('%Y-%m-%dT%H:%M:%fZ', began_at / 1000000.0, 'unixepoch') AS began_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000000.0, 'unixepoch') AS ended_at,
    (ended_at - began_at) / 1000000.0 AS seconds
FROM spans WHERE what = 'intervention';
