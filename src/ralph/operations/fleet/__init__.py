"""What a person can do with the fleet: submit jobs, watch and steer them, run a worker, see it work."""
