"""Which files of a project are lists of tasks, and what stands beside them to be read first."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from ralph.adapters import beneath
from ralph.domain.text.safe_text import reveal
from ralph.domain.tickets.invisible import is_visible
from ralph.errors import UsageError

TASKS = "tasks.md"
SUFFIXES = (".md", ".markdown")
MOST_FILES = 200
MOST_FOLDERS = 5_000
DEEPEST = 8
MOST_BESIDE = 20
"""Of files in a folder beside a list, and of folders there."""

SPEC_KIT = ("spec.md", "plan.md", "research.md", "data-model.md", "quickstart.md")
OPENSPEC = ("proposal.md", "design.md")
_ABOVE = ("specs", "changes")
_ARCHIVE = "archive"
_SKIPPED = ("node_modules", "venv", "__pycache__")


def find_lists(folder: Path, root: Path) -> list[Path]:
    """Every ``tasks.md`` of spec-kit and OpenSpec below it; without any, its own Markdown files. Raises UsageError."""
    found = sorted(_plans(folder, root))
    if not found:
        names = (name for name in beneath.list_names(folder, root) if name.lower().endswith(SUFFIXES))
        found = [folder / name for name in names if not name.startswith(".") and is_file(folder / name, root)]
    if len(found) > MOST_FILES:
        message = f"there are {len(found)} lists of tasks in {folder}, and ralph reads at most {MOST_FILES}"
        raise UsageError(message, hint="name one of them, or a folder with fewer")
    return found


def plan_in(folder: Path, root: Path) -> Path | None:
    """The ``tasks.md`` of a folder that is one feature or one change."""
    try:
        names = beneath.list_names(folder, root)
    except OSError:
        return None
    file = folder / TASKS
    return file if TASKS in names and _is_plan(folder, names) and is_file(file, root) else None


def _plans(folder: Path, root: Path) -> Iterator[Path]:
    waiting = [(folder, 0)]
    seen = 0
    while waiting:
        place, depth = waiting.pop()
        seen += 1
        if seen > MOST_FOLDERS:
            message = f"{folder} has more than {MOST_FOLDERS:,} folders"
            raise UsageError(message, hint="name the folder with the specs, or one list of tasks")
        try:
            names = beneath.list_names(place, root)
        except OSError:
            if place == folder:
                raise
            continue  # closed, or gone meanwhile
        if TASKS in names and _is_plan(place, names) and is_file(place / TASKS, root):
            yield place / TASKS
        if depth < DEEPEST:
            waiting += [(place / name, depth + 1) for name in names if _is_entered(place / name, root)]


def _is_plan(place: Path, names: list[str]) -> bool:
    return place.parent.name in _ABOVE or any(name in names for name in (*SPEC_KIT, *OPENSPEC))


def _is_entered(place: Path, root: Path) -> bool:
    if place.name.startswith(".") or place.name in _SKIPPED:
        return False
    if place.name == _ARCHIVE and place.parent.name == "changes":
        return False
    return stat.S_ISDIR(_mode(place, root))


def find_context(file: Path, root: Path) -> list[Path]:
    """What spec-kit and OpenSpec write beside a list of tasks."""
    if file.name != TASKS:
        return []
    folder = file.parent
    found = [folder / name for name in (*SPEC_KIT, *OPENSPEC) if is_file(folder / name, root)]
    contracts = [place for place in _inside(folder / "contracts", root) if is_file(place, root)]
    return [*found, *contracts[:MOST_BESIDE], *_deltas(folder / "specs", root)]


def _deltas(folder: Path, root: Path) -> list[Path]:
    """OpenSpec's ``specs/**/spec.md``."""
    found: list[Path] = []
    waiting = [(folder, 0)]
    seen = 0
    while waiting and seen < MOST_BESIDE * DEEPEST:
        place, depth = waiting.pop(0)
        seen += 1
        if is_file(place / "spec.md", root):
            found.append(place / "spec.md")
        if depth < DEEPEST:
            inner = [one for one in _inside(place, root) if stat.S_ISDIR(_mode(one, root))]
            waiting += [(one, depth + 1) for one in inner[:MOST_BESIDE]]
    return found[:MOST_BESIDE]


def _inside(folder: Path, root: Path) -> list[Path]:
    try:
        return [folder / name for name in beneath.list_names(folder, root) if not name.startswith(".")]
    except OSError:
        return []


def is_plain_name(path: Path, root: Path) -> bool:
    """Whether its name in the project can be shown, and be told to an agent, as it is."""
    return is_visible(path.relative_to(root).as_posix())


def require_plain_name(path: Path, root: Path) -> None:
    """Raises UsageError: names are on screens and in prompts, and must name the same file there."""
    if not is_plain_name(path, root):
        message = (
            f"{reveal(path.relative_to(root).as_posix())} has characters in its name that cannot be shown"
        )
        raise UsageError(message, hint="rename it: no control characters, and none that are invisible")


def is_file(path: Path, root: Path) -> bool:
    """A plain one, and no link."""
    return stat.S_ISREG(_mode(path, root))


def _mode(path: Path, root: Path) -> int:
    try:
        found = beneath.status(path, root)
    except OSError:
        return 0
    return 0 if found is None else found.st_mode
