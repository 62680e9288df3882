"""Starting a plan in a project. Nothing that is there is ever overwritten."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.documents.plan_files import Write
from ralph.adapters.documents.plan_templates import fresh_plan
from ralph.adapters.files import read_whole
from ralph.errors import StoreError, UsageError

MARKER = ".ralph-active"
LONGEST_NAME = 100
IGNORE_BYTES = 1_000_000

_BRANCH_PART = re.compile(r"\w[\w./+-]*")
_NOT_IN_A_BRANCH = ("..", "//", "/.", ".lock")


@dataclass(frozen=True, slots=True)
class MadePlan:
    """Names of the files that were written, and of those that were there already."""

    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]
    ignored: bool  # the marker is ignored by git from now on


def make_plan(root: Path, folder: Path, *, name: str | None, date: str, write: Write) -> MadePlan:
    """The files that are missing, and the marker in .gitignore."""
    if name is not None:
        check_branch_part(name)
    fresh = fresh_plan(project=root.name, date=date, name=name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = tuple(file for file in fresh if _is_there(folder / file))
        for file, content in fresh.items():
            if file not in kept:
                write(folder / file, content)
        ignored = ignore_marker(root, write)
    except OSError as error:
        message = f"cannot write the plan in {folder}: {error.strerror or error}"
        raise StoreError(message, hint="check the directory and its permissions") from None
    return MadePlan(folder, tuple(file for file in fresh if file not in kept), kept, ignored)


def check_branch_part(name: str) -> None:
    """It becomes ``ralph/<name>``, so git must be able to call a branch that."""
    bad = any(part in name for part in _NOT_IN_A_BRANCH) or name.endswith((".", "/"))
    if bad or len(name) > LONGEST_NAME or not _BRANCH_PART.fullmatch(name):
        message = f"--name: {name!r} cannot be part of a branch name"
        raise UsageError(
            message, hint="use letters, digits, dots and dashes, for example --name search-filters"
        )


def ignore_marker(root: Path, write: Write) -> bool:
    """False: it was ignored already."""
    path = root / ".gitignore"
    data = read_whole(path, IGNORE_BYTES, follow=False)
    if data is None and _is_there(path):  # a link, or larger than any: not ours to rewrite
        return False
    text = (data or b"").decode(errors="surrogateescape")
    if any(line.strip().rstrip("/") in (MARKER, f"/{MARKER}") for line in text.splitlines()):
        return False
    before = text if not text or text.endswith("\n") else f"{text}\n"
    write(path, f"{before}{MARKER}\n".encode(errors="surrogateescape"))
    return True


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()
