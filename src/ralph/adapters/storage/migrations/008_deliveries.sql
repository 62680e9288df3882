-- What ralph did with a branch that it delivers: pushed commits, its pull request, what was run again and answered.
CREATE TABLE deliveries (
    branch      TEXT PRIMARY KEY,
    run_id      TEXT NOT NULL,
    updated_at  REAL NOT NULL,
    delivered   TEXT NOT NULL
) STRICT;

CREATE INDEX deliveries_by_run ON deliveries (run_id);
