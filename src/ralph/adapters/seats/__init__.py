"""A job's place on a worker: a clone, and how it travels to and from the git remote."""
