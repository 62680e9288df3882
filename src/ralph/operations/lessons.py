"""Propose, from failures that came back, what a project's AGENTS.md could say. Nothing is written: a person decides."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.files import read_plain, real_path
from ralph.adapters.storage.failed_checks import failed_checks
from ralph.adapters.storage.run_reader import open_reader
from ralph.config.root import STATE_FOLDER, Root, git_top
from ralph.domain.lessons.patch import patch_of
from ralph.domain.lessons.pitfalls import new_lessons, with_pitfalls
from ralph.domain.lessons.repeated_failures import Lesson, lessons_of
from ralph.errors import StoreError, UsageError
from ralph.values import dataclass

FILES = ("AGENTS.md", "CLAUDE.md")
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Proposal:
    """``file``: from the top of the repository, as the patch names it. ``known``: lessons that it has already."""

    top: Path
    file: str
    lessons: tuple[Lesson, ...]
    known: int
    patch: str


def propose_lessons(root: Root, file: Path | None = None) -> Proposal:
    """Raises UsageError if the file is none that can be patched."""
    top = real_path(git_top(root.workspace) or root.workspace)
    path = _chosen(root.workspace, file)
    name = _name(path, top)
    before = _read(path)
    reader = open_reader(root.state / STATE_FOLDER)
    found: tuple[Lesson, ...] = ()
    if reader is not None:
        with reader:
            found = lessons_of(failed_checks(reader))
    new = new_lessons(found, before or "")
    patch = patch_of(name, before, with_pitfalls(before or "", new)) if new else ""
    return Proposal(top, name, new, len(found) - len(new), patch)


def has_runs(root: Root) -> bool:
    reader = open_reader(root.state / STATE_FOLDER)
    if reader is None:
        return False
    with reader:
        return reader.newest() is not None


def _chosen(workspace: Path, file: Path | None) -> Path:
    """A link is followed: git does not patch what is behind one."""
    if file is not None:
        return real_path(file)
    there = (workspace / name for name in FILES if (workspace / name).exists())
    return real_path(next(there, workspace / FILES[0]))


def _name(path: Path, top: Path) -> str:
    if not path.is_relative_to(top):
        message = f"{path} is not in {top}"
        raise UsageError(message, hint="--file names a file of the project")
    name = path.relative_to(top).as_posix()
    if not name.isprintable() or '"' in name or "\\" in name:
        message = f"a patch cannot name {name!r}"
        raise UsageError(message, hint="choose another file with --file")
    return name


def _read(path: Path) -> str | None:
    """None: it is not there. Any bytes come out of a patch as they went in."""
    try:
        content = read_plain(path, MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise StoreError(message, hint="choose another file with --file") from error
    if len(content) > MOST_BYTES:
        message = f"{path} is too large to be a file for agents"
        raise UsageError(message, hint="choose another file with --file")
    return content.decode(errors="surrogateescape")
