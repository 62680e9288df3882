-- Runs, their iterations, and everything that happened in them.

CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    profile     TEXT NOT NULL,
    agent       TEXT NOT NULL,
    root        TEXT NOT NULL,
    options     TEXT NOT NULL,      -- JSON: what the run was started with
    state       TEXT NOT NULL,      -- JSON: where it stands between two iterations
    started_at  REAL NOT NULL,
    updated_at  REAL NOT NULL,
    outcome     TEXT,               -- NULL while it runs, or was killed
    reason      TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE TABLE iterations (
    run_id      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    iteration   INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    assignment  TEXT NOT NULL,
    role        TEXT NOT NULL,
    started_at  REAL NOT NULL,
    ended_at    REAL,               -- NULL: under way, or interrupted
    decision    TEXT,
    reason      TEXT,
    claimed     INTEGER,
    proven      INTEGER,
    cost_usd    REAL,
    tokens      INTEGER,
    PRIMARY KEY (run_id, iteration, attempt)
) STRICT, WITHOUT ROWID;

-- The bus: the engine appends, every screen reads "seq > ?".
CREATE TABLE events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    iteration   INTEGER NOT NULL,
    at          REAL NOT NULL,
    kind        TEXT NOT NULL,
    data        BLOB NOT NULL       -- JSON
) STRICT;

CREATE INDEX events_of_run ON events (run_id, seq);
