"""The rules of the fleet: jobs that move between machines, what a shift is told and tells, who may merge, what all may spend."""
