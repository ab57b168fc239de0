-- name: talked_between
-- entries of turns, each a conversation's up to one of its turns: (ordinal, entry). A stretch of the journal is looked through
-- differs because: SQLite's CROSS JOIN keeps the order of a join, and PostgreSQL gives a number of JSON as text
SELECT entries.ordinal, entries.run_id, entries.sequence, entries.kind, entries.position, entries.name, entries.body, entries.at, entries.digest
FROM entries JOIN turns ON turns.run_id = entries.run_id
WHERE entries.ordinal > :after AND entries.ordinal <= :upto AND EXISTS (
    SELECT 1 FROM json_each(:talks) AS talk WHERE turns.conversation_id = talk.value ->> 0 AND turns.n <= (talk.value ->> 1)::bigint)
ORDER BY entries.ordinal;
