-- The receipts table in a user's own database. It runs through the user's driver, inside the user's transaction.

-- name: user_receipts_table
-- where our operation ids stand, beside the user's own tables
CREATE TABLE IF NOT EXISTS counterfoil_receipts (operation_id TEXT PRIMARY KEY, result TEXT);

-- name: user_receipt_claim
-- inserting the id is the only proof of absence
INSERT INTO counterfoil_receipts (operation_id) VALUES (?) ON CONFLICT DO NOTHING;

-- name: user_receipt
-- the result of the transaction that committed this id; NULL in the one that has just claimed it
SELECT result FROM counterfoil_receipts WHERE operation_id = ?;

-- name: user_receipt_result
-- the result, in the same transaction as the user's writes
UPDATE counterfoil_receipts SET result = ? WHERE operation_id = ?;
