"""One shift of a job on a worker: its seat prepared, its session run, its result pushed or given up; over ports."""
