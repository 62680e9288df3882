"""Archives a plan, without a commit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.documents.plan_files import LARGEST_BYTES, PRD, PROGRESS, TASKS, Write, make_way
from ralph.adapters.documents.plan_start import fresh_plan, is_scaffold
from ralph.domain.plan.document import TasksDocument, parse_tasks, read_document
from ralph.domain.plan.summary import plan_summary
from ralph.errors import StoreError, UsageError
from ralph.values import dataclass

ARCHIVE = "ralph-archive"
MOVED = (PRD, PROGRESS, TASKS)
"""tasks.json last: while it exists there is a plan, which can be archived again after an interruption."""
SUMMARY = "summary.md"
LONGEST_LABEL = 80


class NothingToArchive(UsageError):
    """There is no plan, or it is still empty."""


@dataclass(frozen=True, slots=True)
class Archived:
    """``paths``: everything that was written or moved, relative to the root."""

    folder: Path
    paths: tuple[str, ...]
    done: int
    total: int


def archive_plan(
    root: Path,
    folder: Path,
    *,
    label: str | None,
    date: str,
    write: Write,
    then: Callable[[], None] = lambda: None,
) -> Archived:
    """Move the plan into ``ralph-archive/<date>-<branch or label>/``, write summary.md, and start an empty plan.

    Calls ``then`` last. If anything fails, ``then`` included, everything is put back.
    """
    contents = {name: beneath.read_whole(folder / name, LARGEST_BYTES) for name in MOVED}
    present = {name: data for name, data in contents.items() if data is not None}
    if TASKS not in present:
        message = f"there is nothing to archive: {folder / TASKS} is not a readable file"
        raise NothingToArchive(message, hint="`ralph plan new` makes a plan")
    text = {name: data.decode(errors="replace") for name, data in present.items()}
    if _is_blank(text[TASKS]) and is_scaffold(text.get(PRD, "")):
        message = f"there is nothing to archive: the plan in {folder} is still the empty template"
        raise NothingToArchive(message, hint='fill it in, or let `ralph plan draft "what is wanted"` do so')
    read = read_document(text[TASKS])
    document = read if isinstance(read, TasksDocument) else None
    named = label or (document.branch_name if document is not None else "") or "plan"
    target = _free(root / ARCHIVE, f"{date}-{_file_name(named)}")
    summary = plan_summary(document, progress=text.get(PROGRESS, ""), ended=date)
    fresh = fresh_plan(project=root.name, date=date, name=None)
    try:
        beneath.make_folder(target)
        # Everything is in the archive before anything is reset: a crash loses nothing.
        for name, data in present.items():
            write(target / name, data)
        write(target / SUMMARY, summary)
        for name in MOVED:
            if name not in present:
                make_way(folder / name)
            write(folder / name, fresh[name])
        then()
    except BaseException as error:
        _undo(folder, present, target, write)
        if not isinstance(error, OSError):
            raise
        message = f"cannot archive into {target}: {error.strerror or error}"
        raise StoreError(message, hint="check the directory and its permissions") from None
    stories = document.stories if document is not None else ()
    written = [*(target / name for name in (*present, SUMMARY)), *(folder / name for name in MOVED)]
    paths = tuple(path.relative_to(root).as_posix() for path in written)
    return Archived(target, paths, sum(story.passes for story in stories), len(stories))


def _undo(folder: Path, before: Mapping[str, bytes], target: Path, write: Write) -> None:
    """Restore the plan and remove the archive. What cannot be restored stays in the archive."""
    try:
        for name in MOVED:
            if name not in before:
                beneath.remove(folder / name)
            elif beneath.read_whole(folder / name, LARGEST_BYTES) != before[name]:
                write(folder / name, before[name])
    except OSError as error:
        message = f"cannot restore {folder}: {error.strerror or error}"
        raise StoreError(message, hint=f"the plan's files are in {target}: copy them back") from None
    with suppress(OSError):
        for name in (*before, SUMMARY):
            beneath.remove(target / name)
        beneath.remove_folder(target)
        beneath.remove_folder(target.parent)  # unless there are other archives


def _is_blank(tasks: str) -> bool:
    """No story says anything."""
    data = parse_tasks(tasks)
    stories = data.get("userStories") if isinstance(data, Mapping) else None
    return isinstance(stories, list) and not any(
        not isinstance(story, Mapping)
        or any(story.get(field) for field in ("title", "description", "acceptanceCriteria", "notes"))
        for story in stories
    )


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:LONGEST_LABEL] or "plan"


def _free(parent: Path, name: str) -> Path:
    numbered = (parent / f"{name}-{number}" for number in count(2))
    return next(path for path in chain([parent / name], numbered) if not os.path.lexists(path))
