"""Any command that no other folder knows."""
