"""What can be done with runs: start, resume, choose, read, ask, cancel and remove them."""
