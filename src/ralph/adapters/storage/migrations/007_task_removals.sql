-- Which tasks were removed on purpose: a row that is gone without one was taken away by something else.
CREATE TABLE task_removals (
    seq      INTEGER PRIMARY KEY,
    task_id  TEXT NOT NULL COLLATE NOCASE,
    at       REAL NOT NULL
) STRICT;
