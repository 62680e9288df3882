-- The runs that a run has started, without reading the others.

CREATE INDEX runs_by_parent ON runs (parent_id);
