"""Whether a remote's address may be pushed to: never one that git would obey, nor a place that agents write to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from ralph.adapters.files import expand_home, is_true, real_path
from ralph.adapters.git_folders import MARKER, git_folders, is_marked
from ralph.domain.trust.pushed_to import is_option, local_path
from ralph.errors import UsageError


def require_pushable(address: str, remote: str, *, workspace: Path, state: Path) -> None:
    """``state``: where ralph keeps its records. Raises UsageError."""
    hint = f"`git remote set-url {remote} ADDRESS`, or name another in pullRequest.remote"
    if is_option(address):
        message = f"the address of the remote {remote} begins with -: git would take it for an option"
        raise UsageError(message, hint=hint)
    if not (path := local_path(address)):
        return
    own = {real_path(place) for place in _own_places(workspace, state)}
    for target in _targets(path, workspace):
        if own & {target, *target.parents}:
            message = f"the remote {remote} is a folder of this project: a push would run hooks that an agent can write"
            raise UsageError(message, hint=hint)


def _own_places(workspace: Path, state: Path) -> Iterator[Path]:
    yield from (workspace, state)
    if (folders := git_folders(workspace)) is not None:
        yield from folders
        if folders.common.name == MARKER:
            yield folders.common.parent


def _targets(path: str, workspace: Path) -> Iterator[Path]:
    """Every folder that git may open for it: it begins at the top of the working tree, and tries endings."""
    folders = git_folders(workspace)
    starts = {workspace, workspace if folders is None else folders.top}
    for start in starts:
        for ending in ("", ".git"):
            place = Path(f"{start / expand_home(path)}{ending}")
            yield from map(real_path, _opened(place))


def _opened(place: Path) -> Iterable[Path]:
    """A worktree elsewhere has its hooks in the repository that it belongs to."""
    folders = git_folders(place) if is_true(partial(is_marked, place)) else None
    return (place, place / MARKER, *(() if folders is None else (folders.own, folders.common)))
