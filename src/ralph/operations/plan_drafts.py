"""Drafting a plan: the files change while the agent writes, and are put back unless somebody keeps the draft."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ralph.adapters.documents.plan_files import LARGEST_BYTES, PLAN_FILES, PRD, PlanFiles
from ralph.adapters.files import read_whole
from ralph.domain.plan.document import TasksDocument, read_document
from ralph.domain.plan.draft import is_untouched
from ralph.errors import UsageError
from ralph.operations.plans import Plan, is_template, without_a_run
from ralph.wiring.plan_memory import forget_unjudged


@dataclass(slots=True)
class Draft:
    """The files of a plan while somebody drafts it. Unless it is kept, they are put back in the end."""

    plan: Plan
    is_kept: bool = field(default=False, init=False)

    def keep(self) -> None:
        self.is_kept = True
        forget_unjudged(self.plan.state_folder, self.plan.path)


@contextmanager
def drafting(plan: Plan, *, prd: Path | None) -> Iterator[Draft]:
    """``prd``: a file that becomes the plan's prd.md. Raises UsageError if stories were worked on already."""
    files = plan.files
    with without_a_run(plan.root):  # whose files would be put back under it
        _refuse_work_in_progress(plan)
        before = {name: read_whole(files.path / name, LARGEST_BYTES, follow=False) for name in PLAN_FILES}
        if prd is not None:
            _take_prd(files, prd)
    draft = Draft(plan)
    try:
        yield draft
    finally:
        if not draft.is_kept:
            for name, content in before.items():
                files.write_guarded(name, content)


def _refuse_work_in_progress(plan: Plan) -> None:
    read = read_document(plan.files.read_tasks() or "")
    if isinstance(read, TasksDocument) and not is_untouched(read):
        message = f"the stories in {plan.name}/tasks.json have already been worked on"
        raise UsageError(message, hint="`ralph plan archive` puts that plan away and starts a new one")


def _take_prd(files: PlanFiles, source: Path) -> None:
    there = files.read_guarded()[PRD]
    if there is not None and not is_template(there):
        message = f"{files.folder}/{PRD} already has content"
        raise UsageError(message, hint="leave out --prd to plan from it, or archive that plan first")
    content = read_whole(source.resolve(), LARGEST_BYTES, follow=False)
    if content is None or not content.strip():
        message = f"--prd: {source} is not a file with text in it"
        raise UsageError(message, hint="give a Markdown file")
    files.write_guarded(PRD, content)
