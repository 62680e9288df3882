"""Starts a plan in a project with its first files. Existing files are never overwritten."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.documents.plan_files import PRD, PROGRESS, PROMPT, TASKS, Write
from ralph.adapters.files import real_path
from ralph.domain.loop.prompt import fill
from ralph.domain.plan.active_marker import MARKER_FILE
from ralph.errors import StoreError, UsageError
from ralph.patterns import pattern
from ralph.values import dataclass

LONGEST_NAME = 100
IGNORE_BYTES = 1_000_000

_BRANCH_PART = pattern(r"\w[\w./+-]*")
_NOT_IN_A_BRANCH = ("..", "//", "/.", ".lock")
_TEMPLATES = Path(__file__).parents[2] / "profiles" / "templates" / "plan"
_COMMENT = pattern(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MadePlan:
    """Names of the files that were written, and of those that were there already."""

    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]
    ignored: bool  # git ignores the marker from now on


def make_plan(root: Path, folder: Path, *, name: str | None, date: str, write: Write) -> MadePlan:
    """Write the files that are missing, and add the marker to .gitignore."""
    if name is not None:
        check_branch_part(name)
    fresh = fresh_plan(project=root.name, date=date, name=name)
    try:
        beneath.make_folder(folder)
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
    """It becomes the branch ``ralph/<name>``, so git must accept it."""
    bad = any(part in name for part in _NOT_IN_A_BRANCH) or name.endswith((".", "/"))
    if bad or len(name) > LONGEST_NAME or not _BRANCH_PART.fullmatch(name):
        message = f"--name: {name!r} cannot be part of a branch name"
        raise UsageError(message, hint="use letters, digits, dots and dashes, such as --name search-filters")


def ignore_marker(root: Path, write: Write) -> bool:
    """False: it was ignored already."""
    path = real_path(root) / ".gitignore"
    data = beneath.read_whole(path, IGNORE_BYTES)
    if data is None and _is_there(path):  # a link, or too large: not ours to rewrite
        return False
    text = (data or b"").decode(errors="surrogateescape")
    if any(line.strip().rstrip("/") in (MARKER_FILE, f"/{MARKER_FILE}") for line in text.splitlines()):
        return False
    before = text if not text or text.endswith("\n") else f"{text}\n"
    write(path, f"{before}{MARKER_FILE}\n".encode(errors="surrogateescape"))
    return True


def _is_there(path: Path) -> bool:
    return beneath.status(path) is not None


def fresh_plan(*, project: str, date: str, name: str | None) -> Mapping[str, str]:
    """Content by file name. ``name`` is the feature's: it names the branch."""
    values = {"DATE": date, "PROJECT_NAME": name or project}
    tasks = json.loads(_template(TASKS))
    tasks["project"] = project
    if name is not None:
        tasks["branchName"] = f"ralph/{name}"
    return {
        PRD: fill(_template(PRD), values),
        TASKS: json.dumps(tasks, indent=2, ensure_ascii=False) + "\n",
        PROGRESS: fill(_template(PROGRESS), values),
        PROMPT: _template(PROMPT),
    }


def is_scaffold(prd: str) -> bool:
    """It has no requirement yet: headings, comments and empty tables only."""
    lines = (line.strip() for line in _COMMENT.sub("", prd).splitlines())
    return not any(line for line in lines if line and not line.startswith(("#", "|")))


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
