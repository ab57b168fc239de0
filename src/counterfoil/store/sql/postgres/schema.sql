-- The truth about the PostgreSQL schema: the tables, columns, lists of states and indexes of ../schema.sql (tests/migration compares
-- them), and what only a server needs. Text is compared byte by byte, as SQLite does: the order of ids and cursors depends on it.
-- Times are microseconds since 1970 UTC.

-- Which schema this is. Its presence says that the tables beside it are ours.
CREATE TABLE counterfoil_schema (
    application BIGINT PRIMARY KEY,
    version BIGINT NOT NULL
);

-- The newest batch of each writer, counted by itself and written in that batch: whether a COMMIT whose answer was lost took place.
CREATE TABLE writers (
    writer_id TEXT COLLATE "C" PRIMARY KEY,
    n BIGINT NOT NULL,
    at BIGINT NOT NULL
);

-- As in SQLite, so that one text of a query serves both. What PostgreSQL cannot hold (the character 0, half a character) is read as
-- the replacement character: an index must not refuse what the journal may say.
CREATE FUNCTION json_extract(body TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT regexp_replace(body, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g')::json
        #>> string_to_array(substr(path, 3), '.')
$$;

-- A time as people and other programs read it.
CREATE FUNCTION rfc3339(us BIGINT) RETURNS TEXT LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT to_char(timestamp 'epoch' + (us + 500) * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

CREATE TABLE installation (
    installation_id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    single_person BIGINT NOT NULL CHECK (single_person IN (0, 1)),
    marker_accepted BIGINT NOT NULL CHECK (marker_accepted IN (0, 1)),
    incarnation BIGINT NOT NULL,
    restore_state TEXT COLLATE "C" CHECK (restore_state IN ('open', 'finished')),
    restore_reason TEXT COLLATE "C",
    restore_at BIGINT,
    batches BIGINT NOT NULL,
    rolling BYTEA NOT NULL,
    in_flight_batch BIGINT NOT NULL,
    clock_us BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    restored_head_at BIGINT,
    lost_until BIGINT,
    cloned_at BIGINT
);

-- One database is one installation.
CREATE UNIQUE INDEX installation_one ON installation ((1));

-- The newest entry of every chain that is no run's: facts that belong to no run.
CREATE TABLE chains (
    run_id TEXT COLLATE "C" PRIMARY KEY,
    sequence BIGINT NOT NULL,
    head BYTEA NOT NULL
);

-- The rolling digest at each commit that sent or forbade sending: what the outside marker is compared with.
CREATE TABLE marks (
    batch BIGINT PRIMARY KEY,
    rolling BYTEA NOT NULL
);

-- The numbers that people see.
CREATE TABLE counters (
    what TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
);

-- `ordinal` is the order of all entries of all chains, without gaps.
CREATE TABLE entries (
    ordinal BIGINT PRIMARY KEY,
    run_id TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    position TEXT COLLATE "C",
    name TEXT COLLATE "C",
    body TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    UNIQUE (run_id, sequence)
);

CREATE TABLE runs (
    run_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    workflow TEXT COLLATE "C" NOT NULL,
    workflow_version BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    input_digest TEXT COLLATE "C" NOT NULL,
    input TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('pending', 'running', 'waiting', 'parked', 'completed', 'failed', 'cancelled')),
    reason TEXT COLLATE "C",
    sentence TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    owner_then TEXT COLLATE "C",
    deadline_at BIGINT,
    due_at BIGINT,
    heading TEXT COLLATE "C",
    result TEXT COLLATE "C",
    failure TEXT COLLATE "C",
    parent_run_id TEXT COLLATE "C",
    parent_position TEXT COLLATE "C",
    budget TEXT COLLATE "C" NOT NULL,
    failed_tries BIGINT NOT NULL,
    spent_micros BIGINT NOT NULL,
    reserved_micros BIGINT NOT NULL,
    waited_us BIGINT NOT NULL,
    waiting_since BIGINT,
    crashes BIGINT NOT NULL,
    cancel_asked BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    updated_at BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    worker_id TEXT COLLATE "C",
    lease_until BIGINT,
    executing BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    head BYTEA NOT NULL,
    submitted_by TEXT COLLATE "C",
    draws TEXT COLLATE "C",
    budget_id TEXT COLLATE "C",
    after_run_id TEXT COLLATE "C",
    known_from BIGINT,
    held_for TEXT COLLATE "C",
    slots TEXT COLLATE "C",
    UNIQUE (workflow, request_id),
    -- No owner, no wait: a parked run names its reason, its owner and its deadline.
    CHECK (state <> 'parked' OR (reason IS NOT NULL AND owner <> '' AND deadline_at IS NOT NULL AND reason IN (
        'outcome_unknown', 'receiver_mismatch', 'possible_repeat', 'business_key_conflict', 'duplicate_found',
        'interrupted_tool', 'review_expired', 'review_rejected', 'budget_attempts', 'budget_elapsed', 'budget_spend', 'budget_tokens', 'budget_calls',
        'code_changed', 'no_worker', 'no_progress', 'expired', 'poisoned', 'restored', 'writes_suspended',
        'clock_jump', 'inconsistent', 'order_overtaken', 'step_failed')))
);

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
    budget_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    name TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL CHECK (scope IN ('run', 'conversation', 'workflow', 'business_day', 'operation')),
    "key" TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    limits TEXT COLLATE "C" NOT NULL,
    raised TEXT COLLATE "C" NOT NULL,
    used TEXT COLLATE "C" NOT NULL,
    reserved TEXT COLLATE "C" NOT NULL,
    unmeasured BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    UNIQUE (name, "key")
);

CREATE TABLE operations (
    operation_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    version BIGINT NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs,
    generation BIGINT NOT NULL,
    position TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    occurrence BIGINT NOT NULL,
    receiver TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    api_version TEXT COLLATE "C" NOT NULL,
    duplicate TEXT COLLATE "C" NOT NULL CHECK (duplicate IN ('benign', 'costly', 'irreversible')),
    business_key TEXT COLLATE "C",
    key_number BIGINT NOT NULL CHECK (key_number BETWEEN 0 AND 255),
    proposal_version BIGINT NOT NULL,
    payload TEXT COLLATE "C" NOT NULL,
    payload_digest TEXT COLLATE "C" NOT NULL,
    contract_digest TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('prepared', 'in_flight', 'succeeded', 'failed', 'unknown')),
    reason TEXT COLLATE "C",
    reused_from TEXT COLLATE "C",
    sent BIGINT NOT NULL CHECK (sent IN (0, 1)),
    first_sent_at BIGINT,
    attempts BIGINT NOT NULL,
    key_state TEXT COLLATE "C" CHECK (key_state IN ('poisoned', 'mismatched')),
    in_progress_until BIGINT,
    withdrawn TEXT COLLATE "C",
    resolution TEXT COLLATE "C",
    resolved_at BIGINT,
    receipt_id TEXT COLLATE "C",
    owner TEXT COLLATE "C" NOT NULL,
    case_letter TEXT COLLATE "C",
    case_sentence TEXT COLLATE "C",
    next_at BIGINT,
    incident_id TEXT COLLATE "C",
    incarnation BIGINT NOT NULL,
    prepared_at BIGINT NOT NULL,
    closed_at BIGINT,
    target TEXT COLLATE "C",
    amount_minor BIGINT,
    currency TEXT COLLATE "C",
    doubt_at BIGINT
);

CREATE INDEX operations_run_id ON operations (run_id);
CREATE INDEX operations_status ON operations (status, number);
CREATE INDEX operations_business_key ON operations (business_key) WHERE business_key IS NOT NULL;
CREATE INDEX operations_next_at ON operations (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE attempts (
    attempt_id TEXT COLLATE "C" PRIMARY KEY,
    operation_id TEXT COLLATE "C" NOT NULL REFERENCES operations,
    run_id TEXT COLLATE "C" NOT NULL,
    n BIGINT NOT NULL,
    worker_id TEXT COLLATE "C" NOT NULL,
    host TEXT COLLATE "C" NOT NULL,
    boot_id TEXT COLLATE "C" NOT NULL,
    fence BIGINT NOT NULL,
    key_number BIGINT NOT NULL,
    idempotency_key TEXT COLLATE "C",
    scope TEXT COLLATE "C" NOT NULL,
    request_digest TEXT COLLATE "C",
    review_id TEXT COLLATE "C",
    started_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    ended_at BIGINT,
    sender_gone_at BIGINT,
    sent BIGINT NOT NULL CHECK (sent IN (0, 1)),
    reached TEXT COLLATE "C" NOT NULL CHECK (reached IN ('nothing', 'connected', 'request', 'headers', 'body')),
    answer_status BIGINT,
    answer_class TEXT COLLATE "C",
    answer_at BIGINT,
    exchange TEXT COLLATE "C",
    late BIGINT NOT NULL,
    closed BIGINT NOT NULL CHECK (closed IN (0, 1)),
    rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, -- the order in which rows came, which every SQLite table has
    UNIQUE (operation_id, n)
);

CREATE INDEX attempts_run_id ON attempts (run_id);
CREATE INDEX attempts_open ON attempts (worker_id) WHERE ended_at IS NULL;

CREATE TABLE receipts (
    receipt_id TEXT COLLATE "C" PRIMARY KEY,
    operation_id TEXT COLLATE "C" NOT NULL REFERENCES operations,
    run_id TEXT COLLATE "C" NOT NULL,
    attempt_id TEXT COLLATE "C",
    how TEXT COLLATE "C" NOT NULL CHECK (how IN ('reply', 'lookup', 'webhook', 'statement', 'person')),
    reference TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    body_digest TEXT COLLATE "C" NOT NULL,
    proves TEXT COLLATE "C" NOT NULL CHECK (proves IN ('first_result', 'current_state', 'existence')),
    received_at BIGINT NOT NULL
);

CREATE INDEX receipts_operation_id ON receipts (operation_id);
CREATE INDEX receipts_run_id ON receipts (run_id);
CREATE INDEX receipts_reference ON receipts (reference);

CREATE TABLE lookups (
    lookup_id TEXT COLLATE "C" PRIMARY KEY,
    operation_id TEXT COLLATE "C" NOT NULL REFERENCES operations,
    run_id TEXT COLLATE "C" NOT NULL,
    n BIGINT NOT NULL,
    asked_at BIGINT NOT NULL,
    result TEXT COLLATE "C" NOT NULL CHECK (result IN ('match', 'mismatch', 'several', 'absent', 'unreachable')),
    complete BIGINT NOT NULL CHECK (complete IN (0, 1)),
    found TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL
);

CREATE INDEX lookups_operation_id ON lookups (operation_id);
CREATE INDEX lookups_run_id ON lookups (run_id);

CREATE TABLE proposals (
    proposal_id TEXT COLLATE "C" PRIMARY KEY,
    operation_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs,
    version BIGINT NOT NULL,
    payload TEXT COLLATE "C" NOT NULL,
    payload_digest TEXT COLLATE "C" NOT NULL,
    sources TEXT COLLATE "C" NOT NULL,
    position TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL,
    UNIQUE (operation_id, version)
);

CREATE INDEX proposals_run_id ON proposals (run_id);

CREATE TABLE reviews (
    review_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    operation_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs,
    proposal_version BIGINT NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('first', 'renewal')),
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'expired', 'superseded')),
    role TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    owner_then TEXT COLLATE "C",
    scope TEXT COLLATE "C" NOT NULL,
    opened_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    reviewer TEXT COLLATE "C",
    decided_at BIGINT,
    comment TEXT COLLATE "C",
    ask_revision BIGINT NOT NULL CHECK (ask_revision IN (0, 1)),
    used_by TEXT COLLATE "C",
    void TEXT COLLATE "C",
    incarnation BIGINT NOT NULL,
    needed BIGINT NOT NULL DEFAULT 1
);

CREATE INDEX reviews_operation_id ON reviews (operation_id);
CREATE INDEX reviews_run_id ON reviews (run_id);
CREATE INDEX reviews_state ON reviews (state, number);

CREATE TABLE answers (
    answer_id TEXT COLLATE "C" PRIMARY KEY,
    review_id TEXT COLLATE "C" NOT NULL REFERENCES reviews,
    run_id TEXT COLLATE "C" NOT NULL,
    person TEXT COLLATE "C" NOT NULL,
    decision TEXT COLLATE "C" NOT NULL CHECK (decision IN ('approve', 'reject')),
    digest TEXT COLLATE "C" NOT NULL,
    comment TEXT COLLATE "C" NOT NULL,
    ask_revision BIGINT NOT NULL,
    at BIGINT NOT NULL,
    matched TEXT COLLATE "C" NOT NULL CHECK (matched IN ('now', 'earlier', 'other_digest', 'closed', 'expired')),
    key_id TEXT COLLATE "C",
    signature TEXT COLLATE "C",
    statement TEXT COLLATE "C"
);

CREATE INDEX answers_review_id ON answers (review_id);
CREATE INDEX answers_run_id ON answers (run_id);

CREATE TABLE people (
    name TEXT COLLATE "C" PRIMARY KEY,
    roles TEXT COLLATE "C" NOT NULL,
    secret_hash TEXT COLLATE "C" NOT NULL,
    stand_in_for TEXT COLLATE "C",
    added_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE TABLE suspensions (
    scope TEXT COLLATE "C" PRIMARY KEY,
    reason TEXT COLLATE "C" NOT NULL,
    "by" TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    lifted_at BIGINT,
    lifted_by TEXT COLLATE "C"
);

-- Runs that are named beside the outside marker, and that a restored database does not have.
CREATE TABLE lost_runs (
    run_id TEXT COLLATE "C" PRIMARY KEY,
    lost_from BIGINT NOT NULL
);

-- On a server: the hosts that work with this ledger, each with an outside marker of its own in its state folder.
CREATE TABLE hosts (
    host_id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    machine TEXT COLLATE "C" NOT NULL,
    line BIGINT NOT NULL,
    asked_at BIGINT,
    vouched_by TEXT COLLATE "C",
    known_at BIGINT
);

-- What was rehearsed: the newest passing drill of an operation, a contract and a workflow's version.
CREATE TABLE drills (
    operation TEXT COLLATE "C" NOT NULL,
    contract_digest TEXT COLLATE "C" NOT NULL,
    workflow TEXT COLLATE "C" NOT NULL,
    workflow_version BIGINT NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    target_digest TEXT COLLATE "C" NOT NULL,
    seed BIGINT NOT NULL,
    cases BIGINT NOT NULL,
    passed BIGINT NOT NULL,
    not_applicable BIGINT NOT NULL,
    not_run BIGINT NOT NULL,
    "by" TEXT COLLATE "C",
    at BIGINT NOT NULL,
    PRIMARY KEY (operation, contract_digest, workflow, workflow_version)
);

-- Who lets an operation be sent without a drill, and until when: one of an operation, which another replaces.
CREATE TABLE waivers (
    operation TEXT COLLATE "C" PRIMARY KEY,
    reason TEXT COLLATE "C" NOT NULL,
    "by" TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL CHECK (ends_at > at),
    revoked_at BIGINT,
    revoked_by TEXT COLLATE "C"
);

CREATE TABLE incidents (
    incident_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    operation_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    business_key TEXT COLLATE "C",
    what TEXT COLLATE "C" NOT NULL,
    evidence TEXT COLLATE "C" NOT NULL,
    opened_at BIGINT NOT NULL,
    closed_at BIGINT,
    closed_by TEXT COLLATE "C",
    reason TEXT COLLATE "C"
);

CREATE INDEX incidents_operation_id ON incidents (operation_id);
CREATE INDEX incidents_run_id ON incidents (run_id);
CREATE INDEX incidents_business_key ON incidents (business_key) WHERE business_key IS NOT NULL;
CREATE INDEX incidents_open ON incidents (number) WHERE closed_at IS NULL;

CREATE TABLE workers (
    worker_id TEXT COLLATE "C" PRIMARY KEY,
    host TEXT COLLATE "C" NOT NULL,
    boot_id TEXT COLLATE "C" NOT NULL,
    pid BIGINT NOT NULL,
    versions TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    draining BIGINT NOT NULL,
    stopped_at BIGINT,
    quiet BIGINT NOT NULL DEFAULT 0,
    queues TEXT COLLATE "C"
);

-- A place that is taken in a pool: by a run that is driven, or by an attempt until its deadline.
CREATE TABLE slots (
    pool TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    until BIGINT,
    PRIMARY KEY (pool, holder)
);

-- What goes out to a receiver, from all workers: when the next is due, until when it asked to be left alone, whether it is paused.
CREATE TABLE taps (
    receiver TEXT COLLATE "C" PRIMARY KEY,
    next_at BIGINT NOT NULL,
    closed_until BIGINT,
    closed_by BIGINT,
    failures BIGINT NOT NULL DEFAULT 0,
    problem TEXT COLLATE "C",
    opens BIGINT NOT NULL DEFAULT 0,
    open_until BIGINT,
    trial TEXT COLLATE "C",
    trial_until BIGINT,
    paused_at BIGINT,
    paused_by TEXT COLLATE "C",
    paused_reason TEXT COLLATE "C"
);

-- What receivers sent by themselves: stored before it is matched.
CREATE TABLE deliveries (
    delivery_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    receiver TEXT COLLATE "C" NOT NULL,
    own_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C",
    body TEXT COLLATE "C" NOT NULL,
    body_digest TEXT COLLATE "C" NOT NULL,
    received_at BIGINT NOT NULL,
    operation_id TEXT COLLATE "C",
    receipt_id TEXT COLLATE "C",
    closed_at BIGINT,
    closed_by TEXT COLLATE "C",
    reason TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('stored', 'matched', 'orphan', 'other')),
    next_at BIGINT,
    tries BIGINT NOT NULL,
    seen BIGINT NOT NULL
);

CREATE INDEX deliveries_body_digest ON deliveries (body_digest);
CREATE INDEX deliveries_operation_id ON deliveries (operation_id);
CREATE INDEX deliveries_next_at ON deliveries (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_orphans ON deliveries (number) WHERE state = 'orphan' AND closed_at IS NULL;

-- Operations that are counted at their receivers again after they were closed.
CREATE TABLE sweeps (
    operation_id TEXT COLLATE "C" PRIMARY KEY,
    receiver TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    closed_at BIGINT NOT NULL,
    next_at BIGINT,
    asked BIGINT NOT NULL,
    asked_at BIGINT,
    count BIGINT,
    since BIGINT,
    problem TEXT COLLATE "C",
    notice TEXT COLLATE "C"
);

CREATE INDEX sweeps_next_at ON sweeps (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX sweeps_notices ON sweeps (asked_at) WHERE notice IS NOT NULL;

-- One holder of each intention, whatever the code above thinks.
CREATE TABLE business_keys (
    business_key TEXT COLLATE "C" NOT NULL,
    operation_id TEXT COLLATE "C" NOT NULL,
    payload_digest TEXT COLLATE "C" NOT NULL,
    occurrence BIGINT NOT NULL,
    held_until BIGINT,
    PRIMARY KEY (business_key, occurrence)
);

CREATE INDEX business_keys_operation_id ON business_keys (operation_id);

CREATE TABLE contracts (
    digest TEXT COLLATE "C" PRIMARY KEY,
    body TEXT COLLATE "C" NOT NULL
);

CREATE TABLE messages (
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs,
    sequence BIGINT NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('user', 'agent')),
    text TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (run_id, sequence)
);

CREATE TABLE documents (
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs,
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (run_id, name, version)
);

CREATE TABLE signals (
    run_id TEXT COLLATE "C" NOT NULL,
    signal_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    payload TEXT COLLATE "C" NOT NULL,
    payload_digest TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    taken_by TEXT COLLATE "C",
    rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, -- the order in which rows came, which every SQLite table has
    PRIMARY KEY (run_id, signal_id)
);

CREATE INDEX signals_at ON signals (at);

-- What was said belongs to a conversation; each accepted message is a turn, and each turn is a run.
CREATE TABLE conversations (
    conversation_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    agent TEXT COLLATE "C" NOT NULL,
    parent_id TEXT COLLATE "C" REFERENCES conversations,
    parent_run_id TEXT COLLATE "C",
    head_run_id TEXT COLLATE "C",
    next_kind TEXT COLLATE "C" NOT NULL CHECK (next_kind IN ('message', 'reset', 'handoff')),
    turns BIGINT NOT NULL,
    settings TEXT COLLATE "C" NOT NULL,
    settings_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C",
    next_note TEXT COLLATE "C",
    CHECK ((parent_id IS NULL) = (parent_run_id IS NULL))
);

CREATE TABLE turns (
    run_id TEXT COLLATE "C" PRIMARY KEY REFERENCES runs,
    conversation_id TEXT COLLATE "C" NOT NULL REFERENCES conversations,
    n BIGINT NOT NULL,
    prior_run_id TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('message', 'reset', 'handoff', 'compaction', 'steer', 'imported')),
    into_run_id TEXT COLLATE "C",
    note TEXT COLLATE "C",
    message_key TEXT COLLATE "C",
    UNIQUE (conversation_id, n),
    CHECK ((kind = 'steer') = (into_run_id IS NOT NULL))
);

CREATE INDEX turns_prior_run_id ON turns (prior_run_id) WHERE prior_run_id IS NOT NULL;
CREATE UNIQUE INDEX turns_message_key ON turns (message_key) WHERE message_key IS NOT NULL;

-- Working context with a type: a document in a scope, and each of its versions with the run that wrote it.
CREATE TABLE typed_documents (
    document_id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    name TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL CHECK (scope IN ('run', 'conversation', 'agent', 'key')),
    "key" TEXT COLLATE "C" NOT NULL,
    workflow TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX typed_documents_key ON typed_documents ("key");

CREATE TABLE document_versions (
    document_id TEXT COLLATE "C" NOT NULL REFERENCES typed_documents,
    version BIGINT NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs,
    turn BIGINT,
    at BIGINT NOT NULL,
    PRIMARY KEY (document_id, version)
);

CREATE INDEX document_versions_run_id ON document_versions (run_id);

-- The inbox: what needs a person, by index only, however many runs have ended.
CREATE INDEX runs_parked ON runs (deadline_at, run_id) WHERE state = 'parked';
CREATE INDEX runs_unended ON runs (deadline_at, run_id) WHERE state IN ('pending', 'running', 'waiting');
CREATE INDEX reviews_open ON reviews (expires_at, review_id) WHERE state = 'open';
CREATE INDEX incidents_due ON incidents ((opened_at + 86400000000), incident_id) WHERE closed_at IS NULL; -- a day to weigh one
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
    grant_id TEXT COLLATE "C" PRIMARY KEY,
    role TEXT COLLATE "C" NOT NULL,
    verb TEXT COLLATE "C" NOT NULL,
    workflow TEXT COLLATE "C",
    operation TEXT COLLATE "C",
    kind TEXT COLLATE "C",
    up_to_minor BIGINT,
    currency TEXT COLLATE "C",
    granted_by TEXT COLLATE "C" NOT NULL,
    granted_at BIGINT NOT NULL,
    withdrawn_at BIGINT,
    CHECK ((up_to_minor IS NULL) = (currency IS NULL))
);

CREATE TABLE tokens (
    token_id TEXT COLLATE "C" PRIMARY KEY,
    person TEXT COLLATE "C" NOT NULL REFERENCES people,
    name TEXT COLLATE "C" NOT NULL,
    token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
    scope TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE INDEX tokens_person ON tokens (person);

CREATE TABLE identities (
    issuer TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    person TEXT COLLATE "C" NOT NULL REFERENCES people,
    bound_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX identities_person ON identities (person);

CREATE TABLE sessions (
    session_id TEXT COLLATE "C" PRIMARY KEY,
    person TEXT COLLATE "C" NOT NULL,
    how TEXT COLLATE "C" NOT NULL CHECK (how IN ('secret', 'provider', 'token')),
    begun_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    token_id TEXT COLLATE "C"
);

CREATE INDEX sessions_person ON sessions (person);

CREATE TABLE approval_keys (
    key_id TEXT COLLATE "C" PRIMARY KEY,
    public_key TEXT COLLATE "C" NOT NULL,
    added_by TEXT COLLATE "C" NOT NULL,
    added_at BIGINT NOT NULL,
    revoked_at BIGINT,
    signed_by TEXT COLLATE "C",
    signature TEXT COLLATE "C"
);

CREATE TABLE tending (
    subject TEXT COLLATE "C" PRIMARY KEY,
    run_id TEXT COLLATE "C" NOT NULL,
    taken_by TEXT COLLATE "C",
    taken_at BIGINT,
    snoozed_at BIGINT,
    snoozed_until BIGINT,
    snoozed_by TEXT COLLATE "C",
    snooze_reason TEXT COLLATE "C",
    escalated_to TEXT COLLATE "C",
    escalated_at BIGINT
);

CREATE INDEX tending_run_id ON tending (run_id);
CREATE INDEX tending_taken_by ON tending (taken_by) WHERE taken_by IS NOT NULL;

CREATE TABLE comments (
    comment_id TEXT COLLATE "C" PRIMARY KEY,
    subject TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    person TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX comments_subject ON comments (subject);
CREATE INDEX comments_run_id ON comments (run_id);

CREATE TABLE imports (
    import_id TEXT COLLATE "C" PRIMARY KEY,
    receiver TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    file_digest TEXT COLLATE "C" NOT NULL,
    "by" TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    lines BIGINT NOT NULL,
    matched BIGINT NOT NULL,
    resolved BIGINT NOT NULL
);

CREATE TABLE statement_lines (
    import_id TEXT COLLATE "C" NOT NULL,
    line BIGINT NOT NULL,
    reference TEXT COLLATE "C",
    amount_minor BIGINT,
    currency TEXT COLLATE "C",
    at BIGINT,
    operation_id TEXT COLLATE "C",
    result TEXT COLLATE "C" NOT NULL CHECK (result IN ('matched', 'resolved', 'theirs_not_ours', 'mismatch', 'several')),
    PRIMARY KEY (import_id, line)
);

CREATE INDEX statement_lines_operation_id ON statement_lines (operation_id) WHERE operation_id IS NOT NULL;

-- What the installation does by itself: one holder of each duty.
CREATE TABLE duties (
    name TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C",
    lease_until BIGINT,
    started_at BIGINT,
    succeeded_at BIGINT,
    problem TEXT COLLATE "C",
    next_at BIGINT NOT NULL,
    mark BIGINT NOT NULL
);

CREATE TABLE notices (
    notice_id TEXT COLLATE "C" PRIMARY KEY,
    subject TEXT COLLATE "C" NOT NULL,
    since_at BIGINT NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    recipient TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL CHECK (channel IN ('apprise', 'webhook')),
    body TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL,
    next_try_at BIGINT,
    tries BIGINT NOT NULL,
    sent_at BIGINT,
    problem TEXT COLLATE "C"
);

CREATE INDEX notices_subject ON notices (subject, since_at);
CREATE INDEX notices_entered ON notices (made_at) WHERE channel = 'webhook' AND what = 'entered';
CREATE INDEX notices_next_try_at ON notices (next_try_at) WHERE next_try_at IS NOT NULL;

CREATE TABLE samples (
    metric TEXT COLLATE "C" NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (metric, labels, at)
);

CREATE INDEX samples_at ON samples (at);

CREATE TABLE spans (
    span_id TEXT COLLATE "C" PRIMARY KEY,
    what TEXT COLLATE "C" NOT NULL CHECK (what IN ('recovery', 'intervention')),
    label TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    began_at BIGINT NOT NULL,
    ended_at BIGINT
);

CREATE INDEX spans_run_id ON spans (run_id);
CREATE INDEX spans_ended_at ON spans (ended_at) WHERE ended_at IS NOT NULL;

-- What is counted: by index only, however many runs have ended.
CREATE INDEX runs_parked_reason ON runs (reason) WHERE state = 'parked';
CREATE INDEX reviews_open_role ON reviews (role, opened_at) WHERE state = 'open';
CREATE INDEX spans_open ON spans (what, run_id) WHERE ended_at IS NULL;

-- What was counted from the journal so far; the row `journal` says how far.
CREATE TABLE tallies (
    metric TEXT COLLATE "C" NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (metric, labels)
);

-- Views for reports, to be read by other programs. Times are RFC 3339 in UTC. No payload, input, result or comment is in them.
CREATE VIEW report_runs AS
SELECT run_id, number, workflow, workflow_version, request_id, state, reason, sentence, owner, submitted_by, crashes,
    spent_micros / 1000000.0::float8 AS spent_usd, waited_us / 1000000.0::float8 AS waited_seconds,
    rfc3339(created_at) AS created_at,
    rfc3339(started_at) AS started_at,
    rfc3339(updated_at) AS updated_at,
    rfc3339(deadline_at) AS deadline_at
FROM runs;

CREATE VIEW report_operations AS
SELECT o.operation_id, o.number, o.run_id, r.number AS run_number, r.workflow, o.name AS operation, o.receiver, o.environment,
    o.action, o.business_key, o.occurrence, o.status, o.reason, o.sent, o.attempts, o.target, o.amount_minor, o.currency,
    o.payload_digest, o.case_letter, o.owner, c.how AS receipt_how, c.reference AS receipt_reference, c.proves AS receipt_proves,
    rfc3339(o.prepared_at) AS prepared_at,
    rfc3339(o.first_sent_at) AS first_sent_at,
    rfc3339(o.closed_at) AS closed_at
FROM operations AS o JOIN runs AS r ON r.run_id = o.run_id LEFT JOIN receipts AS c ON c.receipt_id = o.receipt_id;

CREATE VIEW report_reviews AS
SELECT v.review_id, v.number, v.run_id, v.operation_id, o.name AS operation, o.receiver, v.proposal_version, v.digest, v.kind,
    v.state, v.role, v.owner, v.reviewer, v.needed, v.used_by, o.amount_minor, o.currency,
    rfc3339(v.opened_at) AS opened_at,
    rfc3339(v.decided_at) AS decided_at,
    rfc3339(v.expires_at) AS expires_at,
    (v.decided_at - v.opened_at) / 1000000.0::float8 AS answered_in_seconds
FROM reviews AS v LEFT JOIN operations AS o ON o.operation_id = v.operation_id;

CREATE VIEW report_interventions AS
SELECT run_id, label AS reason, rfc3339(began_at) AS began_at,
    rfc3339(ended_at) AS ended_at,
    (ended_at - began_at) / 1000000.0::float8 AS seconds
FROM spans WHERE what = 'intervention';
