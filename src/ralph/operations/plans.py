"""What a person can do with a plan: find it, start, draft, check and archive it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.beneath import write_atomic
from ralph.adapters.documents.plan_files import (
    LARGEST_BYTES,
    PLAN_FILES,
    PRD,
    PROMPT,
    PlanFiles,
    plan_folder,
    require_plan,
)
from ralph.adapters.documents.plan_start import MadePlan, is_scaffold, make_plan
from ralph.adapters.files import read_whole, real_path
from ralph.config.loading import load
from ralph.config.profile_settings import ReviewedSettings
from ralph.config.root import STATE_FOLDER, Root, git_top
from ralph.domain.holder import Mode
from ralph.domain.plan.document import TasksDocument, problems, read_document
from ralph.domain.plan.draft import is_untouched, title_problems
from ralph.domain.plan.stop_checks import check_invariants, flat
from ralph.domain.plan.story import ReviewRules
from ralph.domain.text.figures import plural
from ralph.errors import UsageError
from ralph.values import dataclass, field

if TYPE_CHECKING:
    from ralph.adapters.workspace.plan_repository import GitPlanRepository

__all__ = ["MadePlan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a project."""

    root: Root
    files: PlanFiles

    @property
    def name(self) -> str:
        """Its directory, relative to the project."""
        return self.files.folder

    @property
    def path(self) -> Path:
        return self.files.path

    @property
    def state_folder(self) -> Path:
        return self.root.state / STATE_FOLDER

    @property
    def unjudged_note(self) -> str:
        """Says that tasks.json may claim more than was judged; empty if it does not."""
        from ralph.wiring.plan_memory import unjudged_note

        return unjudged_note(self.state_folder, self.path)

    def tasks_text(self) -> str:
        """Raises UsageError if tasks.json cannot be read."""
        text = self.files.read_tasks()
        if text is None:
            message = f"{self.name}/tasks.json is not a readable UTF-8 text file, or it is too large"
            raise UsageError(message, hint="check that it is a plain file, not a link or a directory")
        return text

    def document(self) -> TasksDocument:
        """Raises UsageError if tasks.json is not valid."""
        read = read_document(self.tasks_text())
        if isinstance(read, TasksDocument):
            return read
        message = f"{self.name}/tasks.json has {plural(len(read), 'problem')}: {read[0]}"
        raise UsageError(message, hint="`ralph plan check` lists them all")


def find_plan(root: Root, ralph_dir: Path | None) -> Plan:
    """Raises UsageError if there is no plan there."""
    folder = require_plan(root.workspace, ralph_dir or _default_folder(root))
    return Plan(root, PlanFiles(root.workspace, folder, write_atomic))


def new_plan(root: Root, ralph_dir: Path | None, *, name: str | None) -> MadePlan:
    """Write the missing files; existing ones are never overwritten."""
    folder = plan_folder(root.workspace, ralph_dir or _default_folder(root))
    return make_plan(root.workspace, folder, name=name, date=time.strftime("%Y-%m-%d"), write=write_atomic)


def review_rules(root: Root, *, cap: int | None, skip: bool) -> ReviewRules:
    """From the options, else from the settings."""
    own = _settings(root)
    return ReviewRules(cap or own.review_cap, skip or own.skip_review, own.at_cap == "block")


def _settings(root: Root) -> ReviewedSettings:
    return load(root.state, environ=os.environ).settings.profiles.reviewed


def _default_folder(root: Root) -> Path:
    return Path(_settings(root).plan_folder)


@contextmanager
def without_a_run(root: Root) -> Iterator[None]:
    """Hold off runs, which read and write the plan. Raises UsageError if one is under way."""
    folder = root.state / STATE_FOLDER
    if not (folder / "ralph.db").exists():
        yield
        return
    from ralph.adapters.processes.process_table import started_of, this_process
    from ralph.adapters.storage.claims import Claims
    from ralph.adapters.storage.database import open_state_database

    with closing(open_state_database(folder)) as database:
        claims = Claims(database, me=this_process(), started_of=started_of)
        with claims.holding(str(root.workspace), Mode.PLANNING, now=time.time()):
            yield


# --- check ---


@dataclass(frozen=True, slots=True)
class PlanProblems:
    """``errors`` keep a run from working; ``warnings`` make it worth little."""

    errors: Sequence[str] = ()
    warnings: Sequence[str] = ()


def check_plan(plan: Plan, rules: ReviewRules) -> PlanProblems:
    text = plan.tasks_text()
    read = read_document(text)
    titles = [str(problem) for problem in title_problems(text)]
    if not isinstance(read, TasksDocument):
        return PlanProblems([*map(str, read), *titles])
    errors = [*map(str, problems(read)), *flat(check_invariants(read, rules)), *titles]
    return PlanProblems(errors, list(_warnings(read, plan.files)))


def _warnings(document: TasksDocument, files: PlanFiles) -> Iterator[str]:
    if not document.stories:
        yield "userStories is empty: there is nothing to do"
    if not document.verify_commands:
        yield "verifyCommands is empty: nothing but the agent's word backs an approval"
    guarded = files.read_guarded()
    prd = guarded[PRD]
    if prd is None:
        yield "prd.md is missing: the sessions have no requirements to read"
    elif is_template(prd):
        yield "prd.md is still the empty template"
    if guarded[PROMPT] is None:
        yield "prompt.md is missing: `ralph plan new` writes what is missing"


def is_template(prd: bytes) -> bool:
    return is_scaffold(prd.decode(errors="replace"))


# --- draft ---


@dataclass(slots=True)
class Draft:
    """A plan whose files an agent is drafting. Unless the draft is kept, the old files are put back."""

    plan: Plan
    is_kept: bool = field(default=False, init=False)

    def keep(self) -> None:
        from ralph.wiring.plan_memory import forget_unjudged

        self.is_kept = True
        forget_unjudged(self.plan.state_folder, self.plan.path)


@contextmanager
def drafting(plan: Plan, *, prd: Path | None) -> Iterator[Draft]:
    """``prd``: a file that becomes the plan's prd.md. Raises UsageError if stories were worked on already."""
    files = plan.files
    with without_a_run(plan.root):  # putting files back would pull them from under it
        _refuse_work_in_progress(plan)
        before = {name: read_whole(files.path / name, LARGEST_BYTES) for name in PLAN_FILES}
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
    content = read_whole(real_path(source), LARGEST_BYTES)
    if content is None or not content.strip():
        message = f"--prd: {source} is not a file with text in it"
        raise UsageError(message, hint="give a Markdown file")
    files.write_guarded(PRD, content)


# --- archive ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPlan:
    """``earlier``: nothing was archived, but an earlier archive was committed at last.

    ``commit_error``: why git did not commit it; ``was_unreadable``: what ralph remembered of the plan was set aside unread.
    """

    folder: str
    done: int = 0
    total: int = 0
    was_unreadable: bool = False
    in_repository: bool = True
    commit_error: str = ""
    earlier: bool = False


def archive_plan(plan: Plan, *, label: str | None) -> ArchivedPlan:
    """Archive the plan with a summary, start a new one, and commit. Raises UsageError if there is nothing to archive."""
    import asyncio

    from ralph.adapters.documents import plan_archive
    from ralph.wiring.plan_memory import forget_unjudged

    root = plan.root.workspace
    in_repository = git_top(root) is not None
    unreadable: list[bool] = []
    with without_a_run(plan.root):
        try:
            archived = plan_archive.archive_plan(
                real_path(root),
                plan.path,
                label=label,
                date=time.strftime("%Y-%m-%d"),
                write=write_atomic,
                then=lambda: unreadable.append(forget_unjudged(plan.state_folder, plan.path)),
            )
        except plan_archive.NothingToArchive:
            if in_repository and (left := asyncio.run(_commit_left(root, plan.name))) is not None:
                return left
            raise
        folder = archived.folder.relative_to(real_path(root)).as_posix()
        error = asyncio.run(_commit(root, archived.paths, archived.folder.name)) if in_repository else ""
    return ArchivedPlan(
        folder=folder,
        done=archived.done,
        total=archived.total,
        was_unreadable=any(unreadable),
        in_repository=in_repository,
        commit_error=error,
    )


async def _commit_left(root: Path, plan_name: str) -> ArchivedPlan | None:
    """Commit the archive that an earlier command could not; None if there is none."""
    from ralph.adapters.documents.plan_archive import ARCHIVE, MOVED

    with _repository(root) as repository:
        left = (await repository.state()).uncommitted
    archived = [path for path in left if path.startswith(f"{ARCHIVE}/") and path.count("/") > 1]
    if not archived:
        return None
    name = archived[-1].split("/")[1]
    error = await _commit(root, [*archived, *(f"{plan_name}/{file}" for file in MOVED)], name)
    return ArchivedPlan(folder=f"{ARCHIVE}/{name}", commit_error=error, earlier=True)


async def _commit(root: Path, paths: Sequence[str], name: str) -> str:
    with _repository(root) as repository:
        return await repository.commit(paths, f"chore: archive the plan {name}")


@contextmanager
def _repository(root: Path) -> Iterator[GitPlanRepository]:
    import tempfile

    from ralph.adapters.own_programs import OwnPrograms
    from ralph.adapters.processes.runner import PosixProcessRunner
    from ralph.adapters.workspace.plan_repository import GitPlanRepository

    own = OwnPrograms(reach=(root,))
    runner = PosixProcessRunner(run_id="plan-archive", base_environment=own.environment, find=own.find)
    with tempfile.TemporaryDirectory(prefix="ralph-") as aside:
        yield GitPlanRepository(root, runner, aside=Path(aside))
