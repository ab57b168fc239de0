-- Receivers that are paused: by their breaker, or by a person.
ALTER TABLE taps ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE taps ADD COLUMN problem TEXT;
ALTER TABLE taps ADD COLUMN opens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE taps ADD COLUMN open_until INTEGER;
ALTER TABLE taps ADD COLUMN trial TEXT;
ALTER TABLE taps ADD COLUMN trial_until INTEGER;
ALTER TABLE taps ADD COLUMN paused_at INTEGER;
ALTER TABLE taps ADD COLUMN paused_by TEXT;
ALTER TABLE taps ADD COLUMN paused_reason TEXT;
