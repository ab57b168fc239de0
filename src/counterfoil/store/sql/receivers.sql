-- How it goes at the receivers.

-- name: newest_answers
-- of the newest :limit attempts, those begun since :since that are over, counted by receiver and by what their answer meant
SELECT operations.receiver, newest.answer_class, count(*)
FROM (SELECT operation_id, answer_class, started_at, ended_at FROM attempts ORDER BY rowid DESC LIMIT :limit) AS newest
JOIN operations USING (operation_id)
WHERE newest.started_at >= :since AND newest.ended_at IS NOT NULL
GROUP BY operations.receiver, newest.answer_class;
