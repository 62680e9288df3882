-- The newest event when the state was saved: what was spent after it is in no state yet.
ALTER TABLE runs ADD COLUMN state_seq INTEGER NOT NULL DEFAULT 0;
