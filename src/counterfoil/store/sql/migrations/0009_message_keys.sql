-- A conversation accepts one message under a request id, whatever agent it has by then.
ALTER TABLE turns ADD COLUMN message_key TEXT;

-- Where an id was accepted twice before, the first answers for it.
UPDATE turns SET message_key = firsts.message_key
FROM (
    SELECT
        turns.run_id,
        turns.conversation_id || char(31) || runs.request_id AS message_key,
        row_number() OVER (PARTITION BY turns.conversation_id, runs.request_id ORDER BY turns.n) AS nth
    FROM turns JOIN runs ON runs.run_id = turns.run_id
) AS firsts
WHERE firsts.run_id = turns.run_id AND firsts.nth = 1;

CREATE UNIQUE INDEX turns_message_key ON turns (message_key) WHERE message_key IS NOT NULL;
