"""Work on tasks: the scheduler, one task on its way through its roles, its verification and its merge."""
