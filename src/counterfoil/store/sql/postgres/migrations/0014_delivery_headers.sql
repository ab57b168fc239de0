-- The headers in which a receiver named the type of its message: they say what the stored bytes mean.
ALTER TABLE deliveries ADD COLUMN headers TEXT COLLATE "C" NOT NULL DEFAULT '{}';
