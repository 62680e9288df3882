"""The git working tree as ports see it: snapshots, changes, worktrees, merges, and the tree of a plan."""
