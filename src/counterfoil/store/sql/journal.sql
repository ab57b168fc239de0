-- Entries and chains.

-- name: entries_of
-- one chain above a sequence, in order
SELECT run_id, sequence, kind, position, name, body, at, digest FROM entries
WHERE run_id = :run_id AND sequence > :after ORDER BY sequence LIMIT :limit;

-- name: journal
-- every entry in the order of commits, for verify
SELECT ordinal, run_id, sequence, kind, position, name, body, at, digest FROM entries ORDER BY ordinal;

-- name: all_chains
-- where each chain stands, as the tables say
SELECT run_id, sequence, head FROM runs UNION ALL SELECT run_id, sequence, head FROM chains;

-- name: other_chains
-- the chains that are no run's, read with every batch
SELECT run_id, sequence, head FROM chains;

-- name: keep_chain
-- the newest entry of a chain that is no run's
INSERT INTO chains (run_id, sequence, head) VALUES (?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET sequence = excluded.sequence, head = excluded.head;
