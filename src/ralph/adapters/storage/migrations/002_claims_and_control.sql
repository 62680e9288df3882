-- Who holds a workspace, and what others ask of a run.

-- At most one holder per workspace: planning, executing and verifying exclude each other.
CREATE TABLE claims (
    workspace        TEXT PRIMARY KEY,
    mode             TEXT NOT NULL,
    run_id           TEXT NOT NULL,     -- empty if no run holds it
    pid              INTEGER NOT NULL,
    process_started  TEXT NOT NULL,     -- tells the process from a later one with the same pid
    boot_id          TEXT NOT NULL,
    host             TEXT NOT NULL,
    since            REAL NOT NULL,
    details          TEXT NOT NULL      -- JSON
) STRICT, WITHOUT ROWID;

-- Only a run's owner writes that run's rows; everybody else asks here.
CREATE TABLE controls (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id           TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    at               REAL NOT NULL,
    request          TEXT NOT NULL,     -- stop, stop_now, pause, unpause, steer
    text             TEXT NOT NULL DEFAULT '',
    taken_at         REAL,              -- NULL: not yet heard
    taken_iteration  INTEGER            -- the iteration whose prompt a steer went into
) STRICT;

CREATE INDEX controls_of_run ON controls (run_id, seq);

-- The newest runs first, and those still under way, without reading the others.
CREATE INDEX runs_by_time ON runs (started_at);
CREATE INDEX runs_open ON runs (started_at) WHERE outcome IS NULL;

ALTER TABLE runs ADD COLUMN pid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN process_started TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN ended_at REAL;
