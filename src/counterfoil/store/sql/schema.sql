-- The truth about the SQLite schema. A table is one record of counterfoil.model, a column one field of it.
-- The migrations beside this file must reach exactly this (tests/migration). Times are microseconds since 1970 UTC.

CREATE TABLE installation (
    installation_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    single_person INTEGER NOT NULL CHECK (single_person IN (0, 1)),
    marker_accepted INTEGER NOT NULL CHECK (marker_accepted IN (0, 1)),
    incarnation INTEGER NOT NULL,
    restore_state TEXT CHECK (restore_state IN ('open', 'finished')),
    restore_reason TEXT,
    restore_at INTEGER,
    batches INTEGER NOT NULL,
    rolling BLOB NOT NULL,
    in_flight_batch INTEGER NOT NULL,
    clock_us INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    restored_head_at INTEGER,
    lost_until INTEGER,
    cloned_at INTEGER
) STRICT;

-- One database is one installation.
CREATE UNIQUE INDEX installation_one ON installation ((1));

-- The newest entry of every chain that is no run's: facts that belong to no run.
CREATE TABLE chains (
    run_id TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    head BLOB NOT NULL
) STRICT;

-- The rolling digest at each commit that sent or forbade sending: what the outside marker is compared with.
CREATE TABLE marks (
    batch INTEGER PRIMARY KEY,
    rolling BLOB NOT NULL
) STRICT;

-- The numbers that people see.
CREATE TABLE counters (
    what TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

-- `ordinal` is the order of all entries of all chains, without gaps.
CREATE TABLE entries (
    ordinal INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    kind TEXT NOT NULL,
    position TEXT,
    name TEXT,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    digest BLOB NOT NULL,
    UNIQUE (run_id, sequence)
) STRICT;

CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    workflow TEXT NOT NULL,
    workflow_version INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    input_digest TEXT NOT NULL,
    input TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('pending', 'running', 'waiting', 'parked', 'completed', 'failed', 'cancelled')),
    reason TEXT,
    sentence TEXT NOT NULL,
    owner TEXT NOT NULL,
    owner_then TEXT,
    deadline_at INTEGER,
    due_at INTEGER,
    heading TEXT,
    result TEXT,
    failure TEXT,
    parent_run_id TEXT,
    parent_position TEXT,
    budget TEXT NOT NULL,
    failed_tries INTEGER NOT NULL,
    spent_micros INTEGER NOT NULL,
    reserved_micros INTEGER NOT NULL,
    waited_us INTEGER NOT NULL,
    waiting_since INTEGER,
    crashes INTEGER NOT NULL,
    cancel_asked INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    updated_at INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    worker_id TEXT,
    lease_until INTEGER,
    executing INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    head BLOB NOT NULL,
    submitted_by TEXT,
    draws TEXT,
    budget_id TEXT,
    after_run_id TEXT,
    known_from INTEGER,
    held_for TEXT,
    slots TEXT,
    UNIQUE (workflow, request_id),
    -- No owner, no wait: a parked run names its reason, its owner and its deadline.
    CHECK (state <> 'parked' OR (reason IS NOT NULL AND owner <> '' AND deadline_at IS NOT NULL AND reason IN (
        'outcome_unknown', 'receiver_mismatch', 'possible_repeat', 'business_key_conflict', 'duplicate_found',
        'interrupted_tool', 'review_expired', 'review_rejected', 'budget_attempts', 'budget_elapsed', 'budget_spend', 'budget_tokens', 'budget_calls',
        'code_changed', 'no_worker', 'no_progress', 'expired', 'poisoned', 'restored', 'writes_suspended',
        'clock_jump', 'inconsistent', 'order_overtaken', 'step_failed')))
) STRICT;

CREATE INDEX runs_due_at ON runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX runs_state ON runs (state, number);
CREATE INDEX runs_request_id ON runs (request_id);
CREATE INDEX runs_parent_run_id ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX runs_worker_id ON runs (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX runs_budget_id ON runs (budget_id) WHERE budget_id IS NOT NULL;
CREATE INDEX runs_after_run_id ON runs (after_run_id) WHERE after_run_id IS NOT NULL;
CREATE INDEX runs_held_for ON runs (held_for, due_at) WHERE held_for IS NOT NULL;

-- One limit in one place: a conversation, a workflow, a business day, an operation's name, or a run. Figures are JSON by kind.
CREATE TABLE budgets (
    budget_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    name TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('run', 'conversation', 'workflow', 'business_day', 'operation')),
    "key" TEXT NOT NULL,
    owner TEXT NOT NULL,
    limits TEXT NOT NULL,
    raised TEXT NOT NULL,
    used TEXT NOT NULL,
    reserved TEXT NOT NULL,
    unmeasured INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    UNIQUE (name, "key")
) STRICT;

CREATE TABLE operations (
    operation_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs,
    generation INTEGER NOT NULL,
    position TEXT NOT NULL,
    name TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    receiver TEXT NOT NULL,
    environment TEXT NOT NULL,
    action TEXT NOT NULL,
    api_version TEXT NOT NULL,
    duplicate TEXT NOT NULL CHECK (duplicate IN ('benign', 'costly', 'irreversible')),
    business_key TEXT,
    key_number INTEGER NOT NULL CHECK (key_number BETWEEN 0 AND 255),
    proposal_version INTEGER NOT NULL,
    payload TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    contract_digest TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('prepared', 'in_flight', 'succeeded', 'failed', 'unknown')),
    reason TEXT,
    reused_from TEXT,
    sent INTEGER NOT NULL CHECK (sent IN (0, 1)),
    first_sent_at INTEGER,
    attempts INTEGER NOT NULL,
    key_state TEXT CHECK (key_state IN ('poisoned', 'mismatched')),
    in_progress_until INTEGER,
    withdrawn TEXT,
    resolution TEXT,
    resolved_at INTEGER,
    receipt_id TEXT,
    owner TEXT NOT NULL,
    case_letter TEXT,
    case_sentence TEXT,
    next_at INTEGER,
    incident_id TEXT,
    incarnation INTEGER NOT NULL,
    prepared_at INTEGER NOT NULL,
    closed_at INTEGER,
    target TEXT,
    amount_minor INTEGER,
    currency TEXT,
    doubt_at INTEGER
) STRICT;

CREATE INDEX operations_run_id ON operations (run_id);
CREATE INDEX operations_status ON operations (status, number);
CREATE INDEX operations_business_key ON operations (business_key) WHERE business_key IS NOT NULL;
CREATE INDEX operations_next_at ON operations (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE attempts (
    attempt_id TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL REFERENCES operations,
    run_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    key_number INTEGER NOT NULL,
    idempotency_key TEXT,
    scope TEXT NOT NULL,
    request_digest TEXT,
    review_id TEXT,
    started_at INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL,
    ended_at INTEGER,
    sender_gone_at INTEGER,
    sent INTEGER NOT NULL CHECK (sent IN (0, 1)),
    reached TEXT NOT NULL CHECK (reached IN ('nothing', 'connected', 'request', 'headers', 'body')),
    answer_status INTEGER,
    answer_class TEXT,
    answer_at INTEGER,
    exchange TEXT,
    late INTEGER NOT NULL,
    closed INTEGER NOT NULL CHECK (closed IN (0, 1)),
    UNIQUE (operation_id, n)
) STRICT;

CREATE INDEX attempts_run_id ON attempts (run_id);
CREATE INDEX attempts_open ON attempts (worker_id) WHERE ended_at IS NULL;

CREATE TABLE receipts (
    receipt_id TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL REFERENCES operations,
    run_id TEXT NOT NULL,
    attempt_id TEXT,
    how TEXT NOT NULL CHECK (how IN ('reply', 'lookup', 'webhook', 'statement', 'person')),
    reference TEXT NOT NULL,
    body TEXT NOT NULL,
    body_digest TEXT NOT NULL,
    proves TEXT NOT NULL CHECK (proves IN ('first_result', 'current_state', 'existence')),
    received_at INTEGER NOT NULL
) STRICT;

CREATE INDEX receipts_operation_id ON receipts (operation_id);
CREATE INDEX receipts_run_id ON receipts (run_id);
CREATE INDEX receipts_reference ON receipts (reference);

CREATE TABLE lookups (
    lookup_id TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL REFERENCES operations,
    run_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    result TEXT NOT NULL CHECK (result IN ('match', 'mismatch', 'several', 'absent', 'unreachable')),
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    found TEXT NOT NULL,
    attempts INTEGER NOT NULL
) STRICT;

CREATE INDEX lookups_operation_id ON lookups (operation_id);
CREATE INDEX lookups_run_id ON lookups (run_id);

CREATE TABLE proposals (
    proposal_id TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs,
    version INTEGER NOT NULL,
    payload TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    sources TEXT NOT NULL,
    position TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    UNIQUE (operation_id, version)
) STRICT;

CREATE INDEX proposals_run_id ON proposals (run_id);

CREATE TABLE reviews (
    review_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    operation_id TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs,
    proposal_version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('first', 'renewal')),
    state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'expired', 'superseded')),
    role TEXT NOT NULL,
    owner TEXT NOT NULL,
    owner_then TEXT,
    scope TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    reviewer TEXT,
    decided_at INTEGER,
    comment TEXT,
    ask_revision INTEGER NOT NULL CHECK (ask_revision IN (0, 1)),
    used_by TEXT,
    void TEXT,
    incarnation INTEGER NOT NULL,
    needed INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE INDEX reviews_operation_id ON reviews (operation_id);
CREATE INDEX reviews_run_id ON reviews (run_id);
CREATE INDEX reviews_state ON reviews (state, number);

CREATE TABLE answers (
    answer_id TEXT PRIMARY KEY,
    review_id TEXT NOT NULL REFERENCES reviews,
    run_id TEXT NOT NULL,
    person TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('approve', 'reject')),
    digest TEXT NOT NULL,
    comment TEXT NOT NULL,
    ask_revision INTEGER NOT NULL,
    at INTEGER NOT NULL,
    matched TEXT NOT NULL CHECK (matched IN ('now', 'earlier', 'other_digest', 'closed', 'expired')),
    key_id TEXT,
    signature TEXT,
    statement TEXT
) STRICT;

CREATE INDEX answers_review_id ON answers (review_id);
CREATE INDEX answers_run_id ON answers (run_id);

CREATE TABLE people (
    name TEXT PRIMARY KEY,
    roles TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    stand_in_for TEXT,
    added_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

CREATE TABLE suspensions (
    scope TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    "by" TEXT NOT NULL,
    at INTEGER NOT NULL,
    lifted_at INTEGER,
    lifted_by TEXT
) STRICT;

-- Runs that are named beside the outside marker, and that a restored database does not have.
CREATE TABLE lost_runs (
    run_id TEXT PRIMARY KEY,
    lost_from INTEGER NOT NULL
) STRICT;

-- On a server: the hosts that work with this ledger, each with an outside marker of its own in its state folder.
CREATE TABLE hosts (
    host_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    machine TEXT NOT NULL,
    line INTEGER NOT NULL,
    asked_at INTEGER,
    vouched_by TEXT,
    known_at INTEGER
) STRICT;

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

CREATE TABLE incidents (
    incident_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    operation_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    business_key TEXT,
    what TEXT NOT NULL,
    evidence TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    closed_by TEXT,
    reason TEXT
) STRICT;

CREATE INDEX incidents_operation_id ON incidents (operation_id);
CREATE INDEX incidents_run_id ON incidents (run_id);
CREATE INDEX incidents_business_key ON incidents (business_key) WHERE business_key IS NOT NULL;
CREATE INDEX incidents_open ON incidents (number) WHERE closed_at IS NULL;

CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    versions TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    draining INTEGER NOT NULL,
    stopped_at INTEGER,
    quiet INTEGER NOT NULL DEFAULT 0,
    queues TEXT
) STRICT;

-- A place that is taken in a pool: by a run that is driven, or by an attempt until its deadline.
CREATE TABLE slots (
    pool TEXT NOT NULL,
    holder TEXT NOT NULL,
    run_id TEXT NOT NULL,
    until INTEGER,
    PRIMARY KEY (pool, holder)
) STRICT;

-- What goes out to a receiver, from all workers: when the next is due, until when it asked to be left alone, whether it is paused.
CREATE TABLE taps (
    receiver TEXT PRIMARY KEY,
    next_at INTEGER NOT NULL,
    closed_until INTEGER,
    closed_by INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    problem TEXT,
    opens INTEGER NOT NULL DEFAULT 0,
    open_until INTEGER,
    trial TEXT,
    trial_until INTEGER,
    paused_at INTEGER,
    paused_by TEXT,
    paused_reason TEXT
) STRICT;

-- What receivers sent by themselves: stored before it is matched.
CREATE TABLE deliveries (
    delivery_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    receiver TEXT NOT NULL,
    own_id TEXT NOT NULL,
    type TEXT,
    body TEXT NOT NULL,
    body_digest TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    operation_id TEXT,
    receipt_id TEXT,
    closed_at INTEGER,
    closed_by TEXT,
    reason TEXT,
    state TEXT NOT NULL CHECK (state IN ('stored', 'matched', 'orphan', 'other')),
    next_at INTEGER,
    tries INTEGER NOT NULL,
    seen INTEGER NOT NULL
) STRICT;

CREATE INDEX deliveries_body_digest ON deliveries (body_digest);
CREATE INDEX deliveries_operation_id ON deliveries (operation_id);
CREATE INDEX deliveries_next_at ON deliveries (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_orphans ON deliveries (number) WHERE state = 'orphan' AND closed_at IS NULL;

-- Operations that are counted at their receivers again after they were closed.
CREATE TABLE sweeps (
    operation_id TEXT PRIMARY KEY,
    receiver TEXT NOT NULL,
    name TEXT NOT NULL,
    closed_at INTEGER NOT NULL,
    next_at INTEGER,
    asked INTEGER NOT NULL,
    asked_at INTEGER,
    count INTEGER,
    since INTEGER,
    problem TEXT,
    notice TEXT
) STRICT;

CREATE INDEX sweeps_next_at ON sweeps (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX sweeps_notices ON sweeps (asked_at) WHERE notice IS NOT NULL;

-- One holder of each intention, whatever the code above thinks.
CREATE TABLE business_keys (
    business_key TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    held_until INTEGER,
    PRIMARY KEY (business_key, occurrence)
) STRICT;

CREATE INDEX business_keys_operation_id ON business_keys (operation_id);

CREATE TABLE contracts (
    digest TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE messages (
    run_id TEXT NOT NULL REFERENCES runs,
    sequence INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'agent')),
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, sequence)
) STRICT;

CREATE TABLE documents (
    run_id TEXT NOT NULL REFERENCES runs,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, name, version)
) STRICT;

CREATE TABLE signals (
    run_id TEXT NOT NULL,
    signal_id TEXT NOT NULL,
    name TEXT NOT NULL,
    payload TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    at INTEGER NOT NULL,
    taken_by TEXT,
    PRIMARY KEY (run_id, signal_id)
) STRICT;

CREATE INDEX signals_at ON signals (at);

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
    next_note TEXT,
    CHECK ((parent_id IS NULL) = (parent_run_id IS NULL))
) STRICT;

CREATE TABLE turns (
    run_id TEXT PRIMARY KEY REFERENCES runs,
    conversation_id TEXT NOT NULL REFERENCES conversations,
    n INTEGER NOT NULL,
    prior_run_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('message', 'reset', 'handoff', 'compaction', 'steer', 'imported')),
    into_run_id TEXT,
    note TEXT,
    message_key TEXT,
    UNIQUE (conversation_id, n),
    CHECK ((kind = 'steer') = (into_run_id IS NOT NULL))
) STRICT;

CREATE INDEX turns_prior_run_id ON turns (prior_run_id) WHERE prior_run_id IS NOT NULL;
CREATE UNIQUE INDEX turns_message_key ON turns (message_key) WHERE message_key IS NOT NULL;

-- Working context with a type: a document in a scope, and each of its versions with the run that wrote it.
CREATE TABLE typed_documents (
    document_id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    name TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('run', 'conversation', 'agent', 'key')),
    "key" TEXT NOT NULL,
    workflow TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX typed_documents_key ON typed_documents ("key");

CREATE TABLE document_versions (
    document_id TEXT NOT NULL REFERENCES typed_documents,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs,
    turn INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (document_id, version)
) STRICT;

CREATE INDEX document_versions_run_id ON document_versions (run_id);

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
