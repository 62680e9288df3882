"""Links in ``.ralph/`` to the newest run's files, under their documented names."""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from ralph.adapters import beneath

PATTERNS = ("guardrail_*.log", "prompt_*.txt")


def point_link(link: Path, target: str) -> None:
    """Make ``link`` a symbolic link to ``target``, seen from its folder; a plain file of that name is the user's and stays."""
    folder = link.parent
    try:
        beneath.make_link(link, target, folder)
    except FileExistsError:
        if beneath.read_link(link, folder):
            beneath.remove(link, folder)
            with suppress(FileExistsError):
                beneath.make_link(link, target, folder)


def forget_links(state_folder: Path, *, of: Path | None = None) -> None:
    """The links of an older run would look like results of the next one. ``of``: only those into this run's folder."""
    names = beneath.list_names(state_folder, state_folder)
    for name in names:
        link = state_folder / name
        if not any(fnmatchcase(name, pattern) for pattern in PATTERNS):
            continue
        forget_link(link, of=of)


def forget_link(link: Path, *, of: Path | None) -> None:
    """If it is one. ``of``: only if it leads into this run's folder."""
    state_folder = link.parent
    if (leads_to := beneath.read_link(link, state_folder)) and _is_of(of, state_folder / leads_to):
        beneath.remove(link, state_folder)


def _is_of(folder: Path | None, target: Path) -> bool:
    return folder is None or target.parent == folder
