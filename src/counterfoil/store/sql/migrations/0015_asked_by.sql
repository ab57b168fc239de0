-- Which execution of another engine a run's newest call came from: what comes late from another one is refused.
ALTER TABLE runs ADD COLUMN asked_by TEXT;
