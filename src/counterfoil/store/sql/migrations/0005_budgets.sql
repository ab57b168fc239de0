-- Budgets that many runs draw on, and two more reasons to park. A run remembers what it holds in reserve (`draws`), and for
-- which shared budget it was parked (`budget_id`).
ALTER TABLE runs ADD COLUMN draws TEXT;
ALTER TABLE runs ADD COLUMN budget_id TEXT;
CREATE INDEX runs_budget_id ON runs (budget_id) WHERE budget_id IS NOT NULL;

-- A CHECK cannot be altered. Nothing stored changes its form, so its text is changed where SQLite keeps it.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(
    sql, '''budget_elapsed'', ''budget_spend'',', '''budget_elapsed'', ''budget_spend'', ''budget_tokens'', ''budget_calls'','
) WHERE type = 'table' AND name = 'runs';
PRAGMA writable_schema = RESET;

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
