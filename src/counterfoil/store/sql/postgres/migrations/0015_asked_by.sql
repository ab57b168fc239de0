-- As on SQLite: which execution of another engine a run's newest call came from.
ALTER TABLE runs ADD COLUMN asked_by TEXT COLLATE "C";
