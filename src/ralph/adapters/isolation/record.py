"""What a sandboxed process sees of ``.ralph``: the project's own files there, and those of its run.

Not the database, other runs, or the user's own settings: they hold what was meant for other agents, and for the user.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ralph.adapters.files import real_path
from ralph.adapters.isolation.place import How, Place
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.kept_sessions import SESSIONS

STATE_FOLDER = ".ralph"
_MARKER = ".ralph-active"
_RUNS = "runs"
_OURS = frozenset({_RUNS, SESSIONS, "forward", "plans", "prepared", "seal", "worktrees"})
_OURS_BY_BEGINNING = ("ralph.db", "settings.local", "detached-", "ui-")
_MOST_LINKS = 500


def record_places(site: Site, workspace: Path) -> Iterator[Place]:
    if (marker := workspace / _MARKER).exists():
        yield Place(real_path(marker), How.PROTECTED)
    for folder in {real_path(site.state_folder), real_path(workspace / STATE_FOLDER)}:
        if not folder.is_dir():
            continue
        yield Place(folder, How.CLOSED)
        for entry in _shown(folder):
            if not entry.is_symlink():
                yield Place(folder / entry.name, How.PROTECTED)
        run = folder / _RUNS / site.run_id
        if run.is_dir() and real_path(run) == run:
            yield Place(run, How.PROTECTED)
            if (request := run / "request.json").is_file():
                yield Place(request, How.MASKED)
        # For sandboxes that can only show the folder as a whole.
        for name in ("settings.local.json", "ralph.db"):
            if (path := folder / name).is_file():
                yield Place(real_path(path), How.MASKED)


def record_links(folder: Path) -> Iterator[tuple[str, Path]]:
    """Shown as links, never as what they lead to: a repository may bring them along. (Where it leads, the link.)"""
    links = (entry for entry in _shown(folder) if entry.is_symlink())
    for entry in sorted(links, key=lambda entry: entry.name, reverse=True)[:_MOST_LINKS]:  # the newest
        with suppress(OSError):
            yield os.readlink(entry.path), folder / entry.name  # noqa: PTH115 as it is written


def _shown(folder: Path) -> Iterator[os.DirEntry[str]]:
    for entry in os.scandir(folder):
        if entry.name not in _OURS and not entry.name.startswith(_OURS_BY_BEGINNING):
            yield entry
