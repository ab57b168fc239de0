-- What a text may mean: (kind, id, number, title, run_id, matched).

-- name: find_named
-- the start of an id (:text to :text_end), or a number
SELECT 'run', run_id, number, workflow || ' ' || request_id, run_id, 'id' FROM runs WHERE run_id BETWEEN :text AND :text_end
UNION ALL SELECT 'operation', operation_id, number, coalesce(replace(business_key, char(31), ' '), name), run_id, 'id'
    FROM operations WHERE operation_id BETWEEN :text AND :text_end
UNION ALL SELECT 'attempt', attempt_id, NULL, 'attempt ' || n, run_id, 'id' FROM attempts WHERE attempt_id BETWEEN :text AND :text_end
UNION ALL SELECT 'receipt', receipt_id, NULL, reference, run_id, 'id' FROM receipts WHERE receipt_id BETWEEN :text AND :text_end
UNION ALL SELECT 'proposal', proposal_id, NULL, 'draft ' || version, run_id, 'id'
    FROM proposals WHERE proposal_id BETWEEN :text AND :text_end
UNION ALL SELECT 'review', review_id, number, 'draft ' || proposal_version || ' for ' || role, run_id, 'id'
    FROM reviews WHERE review_id BETWEEN :text AND :text_end
UNION ALL SELECT 'incident', incident_id, number, what, run_id, 'id' FROM incidents WHERE incident_id BETWEEN :text AND :text_end
UNION ALL SELECT 'budget', budget_id, number, name || ' ' || "key", NULL, 'id' FROM budgets WHERE budget_id BETWEEN :text AND :text_end
UNION ALL SELECT 'conversation', conversation_id, number, name, NULL, 'id' FROM conversations
    WHERE conversation_id BETWEEN :text AND :text_end
UNION ALL SELECT 'document', document_id, number, name, NULL, 'id' FROM typed_documents WHERE document_id BETWEEN :text AND :text_end
UNION ALL SELECT 'worker', worker_id, NULL, host || ' ' || pid, NULL, 'id' FROM workers WHERE worker_id BETWEEN :text AND :text_end
UNION ALL SELECT 'run', run_id, number, workflow || ' ' || request_id, run_id, 'number' FROM runs WHERE number = :run_number
UNION ALL SELECT 'operation', operation_id, number, coalesce(replace(business_key, char(31), ' '), name), run_id, 'number'
    FROM operations WHERE number = :operation_number
UNION ALL SELECT 'review', review_id, number, 'draft ' || proposal_version || ' for ' || role, run_id, 'number'
    FROM reviews WHERE number = :review_number
UNION ALL SELECT 'incident', incident_id, number, what, run_id, 'number' FROM incidents WHERE number = :incident_number
UNION ALL SELECT 'budget', budget_id, number, name || ' ' || "key", NULL, 'number' FROM budgets WHERE number = :budget_number
UNION ALL SELECT 'conversation', conversation_id, number, name, NULL, 'number' FROM conversations WHERE number = :conversation_number
UNION ALL SELECT 'document', document_id, number, name, NULL, 'number' FROM typed_documents WHERE number = :document_number
LIMIT :limit;

-- name: find_said
-- what stands in a record: a request id, a business key (:keys, each with receiver, environment and operation before it), a
-- provider's reference, a target, a person
SELECT 'run', run_id, number, workflow || ' ' || request_id, run_id, 'request id' FROM runs WHERE request_id = :text
UNION ALL SELECT 'operation', operation_id, number, replace(business_key, char(31), ' '), run_id, 'business key'
    FROM operations WHERE business_key IN (SELECT value FROM json_each(:keys))
UNION ALL SELECT 'operation', r.operation_id, o.number, coalesce(replace(o.business_key, char(31), ' '), o.name), r.run_id, 'reference'
    FROM receipts AS r JOIN operations AS o ON o.operation_id = r.operation_id WHERE r.reference = :text
UNION ALL SELECT 'operation', operation_id, number, coalesce(replace(business_key, char(31), ' '), name), run_id, 'target'
    FROM operations WHERE target = :text
UNION ALL SELECT 'conversation', conversation_id, number, name, NULL, 'name' FROM conversations WHERE name = :text
UNION ALL SELECT 'person', name, NULL, name, NULL, 'person' FROM people WHERE name = :text
LIMIT :limit;

-- name: find_held
-- what a person works on
SELECT subject, run_id FROM tending WHERE taken_by = :text ORDER BY taken_at DESC LIMIT :limit;

-- name: next_business_key
-- the first key behind one: its kinds are few, and each is met by one such question
SELECT min(business_key) FROM operations WHERE business_key > :after;
