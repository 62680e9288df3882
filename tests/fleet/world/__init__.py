"""The server of the fleet tests: Temporal's own development server, on this machine, with its database in a file."""
