-- The tickets that tasks came from: what was seen there, and what they were told.
CREATE TABLE tickets (
    source   TEXT NOT NULL,
    key      TEXT NOT NULL,
    task_id  TEXT NOT NULL COLLATE NOCASE REFERENCES tasks (id) ON DELETE CASCADE,
    settled  TEXT NOT NULL DEFAULT '',   -- the status of the task that the ticket was told of
    known    TEXT NOT NULL,              -- JSON
    PRIMARY KEY (source, key)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX tickets_by_task ON tickets (task_id);

-- What this project calls itself on trackers: one row.
CREATE TABLE ticket_holder (
    holder   TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
