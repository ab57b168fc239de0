-- When the newest thing was stored that a restored database knows: what it has lost may have been sent since then.
ALTER TABLE installation ADD COLUMN restored_head_at INTEGER;
