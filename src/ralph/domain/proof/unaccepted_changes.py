"""What a run that was not accepted left behind is not the user's, and so is no baseline for the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ralph.domain.proof.tree import Tree

SHOWN = 5


@dataclass(frozen=True, slots=True)
class UnacceptedChanges:
    """Files that decide a check. ``left``: still as the run left them; ``unknown``: changed by it, or by the user since."""

    left: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def warning(self, run_id: str) -> str:
        """What to tell the user; empty: nothing."""
        said = []
        if self.left:
            said.append(
                f"run {run_id} changed {_names(self.left)} and was not accepted: compared with what was there before it. "
                "To keep the changes: --allow-test-changes PATTERN; to undo them: git checkout; "
                f"to continue that run: ralph resume {run_id}"
            )
        if self.unknown:
            said.append(
                f"{_names(self.unknown)} changed during or since run {run_id}, which was not accepted: look at them"
            )
        return "; ".join(said)


def unaccepted_changes(
    now: Tree, before: Tree, last: Tree, *, decides: Callable[[str], bool], is_closed: bool
) -> UnacceptedChanges:
    """``before`` and ``last``: what the run began with, and the last that it saw. ``is_closed``: it ended by itself, so
    whatever has changed since is the user's."""
    changed = sorted(filter(decides, now.differing(before)))
    left = tuple(path for path in changed if now.files.get(path) == last.files.get(path))
    unknown = () if is_closed else tuple(path for path in changed if path not in left)
    return UnacceptedChanges(left, unknown)


def _names(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:SHOWN])
    return f"{shown} and {len(paths) - SHOWN} more" if len(paths) > SHOWN else shown
