"""What a run made of the working tree, in figures: what its end tells, and what undoing it needs to know."""

from __future__ import annotations

from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """``files``: all that differ from what the run began with, committed or not."""

    began_with: str  # the commit before the run; empty: there was none
    ended_with: str = ""
    files: int = 0
    commits: int = 0
    is_ahead: bool = True  # what was there is still part of the branch that is checked out
    uncommitted: int = 0
    new: int = 0  # of those: git does not know them yet
    staged: int = 0  # of those: they differ in the index, too
    named: tuple[str, ...] = ()  # the uncommitted ones, from the working folder; not all, if there are many
    mixed: int = 0  # the user had uncommitted changes in them before
    is_merging: bool = False  # a merge was begun in it and is not committed
    was_clean: bool = True  # nothing was uncommitted when the run began
