"""Putting a finished plan away: seed 004's ralph-archive, without the commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.documents.plan_files import (
    LARGEST_BYTES,
    PRD,
    PROGRESS,
    TASKS,
    Write,
    make_way,
    read_regular,
)
from ralph.adapters.documents.plan_templates import fresh_plan
from ralph.domain.plan_summary import plan_summary
from ralph.domain.tasks_document import TasksDocument, read_document
from ralph.errors import UsageError

ARCHIVE = "ralph-archive"
MOVED = (PRD, TASKS, PROGRESS)
LONGEST_LABEL = 80


@dataclass(frozen=True, slots=True)
class Archived:
    """``paths``: everything that was written or moved, seen from the root."""

    folder: Path
    paths: tuple[str, ...]
    done: int
    total: int


def archive_plan(root: Path, folder: Path, *, label: str | None, date: str, write: Write) -> Archived:
    """Moves the plan into ``ralph-archive/<date>-<branch or label>/``, writes summary.md, and starts afresh."""
    contents = {name: read_regular(folder / name, LARGEST_BYTES) for name in MOVED}
    present = {name: data for name, data in contents.items() if data is not None}
    if TASKS not in present:
        message = f"there is nothing to archive: {folder / TASKS} is no readable file"
        raise UsageError(message, hint="ralph plan new makes a plan")
    text = {name: data.decode(errors="replace") for name, data in present.items()}
    read = read_document(text[TASKS])
    document = read if isinstance(read, TasksDocument) else None
    named = label or (document.branch_name if document is not None else "") or "plan"
    target = _free(root / ARCHIVE, f"{date}-{_file_name(named)}")
    summary = plan_summary(document, progress=text.get(PROGRESS, ""), ended=date)
    fresh = fresh_plan(project=root.name, date=date, name=None)
    try:
        target.mkdir(parents=True)
        # All of it is in the archive before anything is reset: a crash loses nothing.
        for name, data in present.items():
            write(target / name, data)
        write(target / "summary.md", summary)
        for name in MOVED:
            if name not in present:
                make_way(folder / name)
            write(folder / name, fresh[name])
    except OSError as error:
        message = f"cannot archive into {target}: {error.strerror or error}"
        raise UsageError(message, hint="check the directory and its permissions") from None
    done = sum(story.passes for story in document.stories) if document is not None else 0
    written = [*(target / name for name in (*present, "summary.md")), *(folder / name for name in MOVED)]
    return Archived(
        target,
        tuple(path.relative_to(root).as_posix() for path in written),
        done,
        len(document.stories) if document is not None else 0,
    )


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:LONGEST_LABEL] or "plan"


def _free(parent: Path, name: str) -> Path:
    candidate, number = parent / name, 1
    while candidate.exists() or candidate.is_symlink():
        number += 1
        candidate = parent / f"{name}-{number}"
    return candidate
