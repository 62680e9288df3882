"""What a run that was not accepted left behind is not the user's, and so is no baseline for the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ralph.domain.proof.tree import Tree
from ralph.domain.text.excerpt import Keep, truncate
from ralph.values import dataclass

SHOWN = 5
LISTED = 20
PATCH_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class UnacceptedChanges:
    """Files that decide a check. ``left``: still as the run left them; ``allowed``: the same, but the user keeps them;
    ``unknown``: changed by it, or by the user since."""

    left: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    def warning(self, run_id: str, undo: str) -> str:
        """What to tell the user; empty: nothing. ``undo``: the command that puts back what was left."""
        said = []
        if self.left:
            said.append(
                f"run {run_id} changed {_names(self.left)} and was not accepted: compared with what was there before it. "
                f"To undo the changes: `{undo}`; to keep them: --allow-test-changes PATTERN; "
                f"to continue that run: `ralph resume {run_id}`"
            )
        if self.allowed:
            said.append(
                f"run {run_id} changed {_names(self.allowed)} and was not accepted: kept, as you allow"
            )
        if self.unknown:
            said.append(
                f"{_names(self.unknown)} changed during or since run {run_id}, which was not accepted: look at them"
            )
        return "; ".join(said)


def unaccepted_changes(
    now: Tree,
    before: Tree,
    last: Tree,
    *,
    decides: Callable[[str], bool],
    is_allowed: Callable[[str], bool],
    is_closed: bool,
) -> UnacceptedChanges:
    """``before`` and ``last``: what the run began with, and the last that it saw. ``is_closed``: it ended by itself, so
    whatever has changed since is the user's."""
    changed = sorted(filter(decides, now.differing(before)))
    left = [path for path in changed if now.files.get(path) == last.files.get(path)]
    unknown = () if is_closed else [path for path in changed if path not in left and not is_allowed(path)]
    return UnacceptedChanges(
        tuple(path for path in left if not is_allowed(path)),
        tuple(unknown),
        tuple(filter(is_allowed, left)),
    )


def tell_agent(run_id: str, paths: Sequence[str], *, undo: str, patch: str) -> str:
    """An honest worker must know that a test is bent before it bends the code. ``patch``: what ``undo`` applies."""
    listed = "\n".join(f"- {path}" for path in paths[:LISTED])
    more = f"\n- … and {len(paths) - LISTED} more" if len(paths) > LISTED else ""
    return (
        f"Files that prove the work were changed by an earlier run ({run_id}) that was not accepted. The work is compared "
        "with what they were before it:\n"
        f"{listed}{more}\n"
        f"Unless the task itself demands these changes, put them back with `{undo}`, or by hand. This is what it changes "
        "(+ is what was there before):\n"
        f"{truncate(patch, PATCH_CHARS, Keep.HEAD)}"
    )


def _names(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:SHOWN])
    return f"{shown} and {len(paths) - SHOWN} more" if len(paths) > SHOWN else shown
