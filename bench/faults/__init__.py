"""The fault matrix that any harness can be pointed at: hostile agents, a judge outside, and one file per harness."""
