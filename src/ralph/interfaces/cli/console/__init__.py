"""How a run is shown while it happens: for people, as JSON lines, or in GitHub Actions. Standard library only."""
