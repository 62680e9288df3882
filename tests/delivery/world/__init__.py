"""The forge of the delivery tests: GitHub's API, a bare git repository and real workflows, all on this machine."""
