-- Tasks, what they wait for, who works on them, and what became of each verification and stage.

CREATE TABLE tasks (
    number           INTEGER PRIMARY KEY,   -- in the order in which they were added
    id               TEXT NOT NULL UNIQUE COLLATE NOCASE,   -- branches do not tell cases apart everywhere
    spec_id          TEXT NOT NULL DEFAULT '',
    title            TEXT NOT NULL,
    description      TEXT NOT NULL DEFAULT '',
    status           TEXT NOT NULL DEFAULT 'open',
    priority         INTEGER NOT NULL DEFAULT 5,
    dependencies     TEXT NOT NULL DEFAULT '[]',    -- JSON
    assignee         TEXT NOT NULL DEFAULT '',
    metadata         TEXT NOT NULL DEFAULT '{}',    -- JSON
    completion_spec  TEXT,                          -- JSON; NULL: none, and its promise is believed
    stage            TEXT NOT NULL DEFAULT '',
    progress         TEXT NOT NULL DEFAULT '{}',    -- JSON: counts, remarks, branch, budget
    created_at       REAL NOT NULL DEFAULT 0,
    updated_at       REAL NOT NULL DEFAULT 0,
    waits_for        INTEGER NOT NULL DEFAULT 0     -- dependencies that are not done; kept by the triggers below
) STRICT;

CREATE INDEX tasks_ready ON tasks (priority, number) WHERE status = 'open' AND waits_for = 0;
CREATE INDEX tasks_by_priority ON tasks (priority, number);
CREATE INDEX tasks_by_status ON tasks (status, priority, number);

CREATE TABLE task_dependencies (
    task_id   TEXT NOT NULL COLLATE NOCASE,
    needs_id  TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (task_id, needs_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_dependents ON task_dependencies (needs_id, task_id);

CREATE TRIGGER task_added AFTER INSERT ON tasks WHEN new.dependencies <> '[]' BEGIN
    INSERT INTO task_dependencies (task_id, needs_id) SELECT new.id, value FROM json_each(new.dependencies);
    UPDATE tasks SET waits_for = (
        SELECT count(*) FROM json_each(new.dependencies) AS needed
        WHERE NOT EXISTS (SELECT 1 FROM tasks AS other WHERE other.id = needed.value AND other.status = 'done')
    ) WHERE number = new.number;
END;

CREATE TRIGGER task_waits_for_others AFTER UPDATE OF dependencies ON tasks WHEN new.dependencies <> old.dependencies BEGIN
    DELETE FROM task_dependencies WHERE task_id = old.id;
    INSERT INTO task_dependencies (task_id, needs_id) SELECT new.id, value FROM json_each(new.dependencies);
    UPDATE tasks SET waits_for = (
        SELECT count(*) FROM json_each(new.dependencies) AS needed
        WHERE NOT EXISTS (SELECT 1 FROM tasks AS other WHERE other.id = needed.value AND other.status = 'done')
    ) WHERE number = new.number;
END;

CREATE TRIGGER task_done_or_not AFTER UPDATE OF status ON tasks
WHEN (old.status = 'done') <> (new.status = 'done') BEGIN
    UPDATE tasks SET waits_for = waits_for + CASE new.status WHEN 'done' THEN -1 ELSE 1 END
    WHERE id IN (SELECT task_id FROM task_dependencies WHERE needs_id = new.id);
END;

CREATE TRIGGER task_removed AFTER DELETE ON tasks BEGIN
    DELETE FROM task_dependencies WHERE task_id = old.id;
END;

-- Who works on a task; the process tells a live worker from one that was killed.
CREATE TABLE task_claims (
    task_id          TEXT PRIMARY KEY COLLATE NOCASE REFERENCES tasks (id) ON DELETE CASCADE,
    run_id           TEXT NOT NULL,
    pid              INTEGER NOT NULL,
    process_started  TEXT NOT NULL,
    boot_id          TEXT NOT NULL,
    host             TEXT NOT NULL,
    since            REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- The same collation as the tasks': else no index would help to find what belongs to one of them.
CREATE TABLE task_events (
    seq      INTEGER PRIMARY KEY,
    task_id  TEXT NOT NULL COLLATE NOCASE REFERENCES tasks (id) ON DELETE CASCADE,
    at       REAL NOT NULL,
    kind     TEXT NOT NULL,
    text     TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX events_of_task ON task_events (task_id, seq);

CREATE TABLE verifications (
    seq            INTEGER PRIMARY KEY,
    task_id        TEXT NOT NULL COLLATE NOCASE REFERENCES tasks (id) ON DELETE CASCADE,
    at             REAL NOT NULL,
    role           TEXT NOT NULL,
    iteration      INTEGER NOT NULL,
    method         TEXT NOT NULL,
    promise_found  INTEGER NOT NULL,
    verified       INTEGER NOT NULL,
    reason         TEXT NOT NULL,
    seconds        REAL NOT NULL,
    run_id         TEXT NOT NULL
) STRICT;

CREATE INDEX verifications_of_task ON verifications (task_id, seq);

-- No reference to the task: what was learned from it stays when it is removed.
CREATE TABLE task_stages (
    seq         INTEGER PRIMARY KEY,
    task_id     TEXT NOT NULL COLLATE NOCASE,
    at          REAL NOT NULL,
    role        TEXT NOT NULL,
    method      TEXT NOT NULL,
    accepted    INTEGER NOT NULL,
    iterations  INTEGER NOT NULL,
    seconds     REAL NOT NULL,
    cost_usd    REAL,
    tokens      INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    run_id      TEXT NOT NULL
) STRICT;

CREATE INDEX stages_by_role ON task_stages (role, seq);
