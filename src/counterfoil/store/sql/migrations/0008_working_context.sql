-- What whoever handed a conversation over says to the next agent: it begins that agent's first turn.
ALTER TABLE conversations ADD COLUMN next_note TEXT;
ALTER TABLE turns ADD COLUMN note TEXT;

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
