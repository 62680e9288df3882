"""What a person can do with a plan: find it, start one, check it. Drafts and archives have modules of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.documents.plan_files import (
    PRD,
    PROMPT,
    PlanFiles,
    plan_folder,
    require_plan,
)
from ralph.adapters.documents.plan_start import MadePlan, make_plan
from ralph.adapters.documents.plan_templates import is_scaffold
from ralph.adapters.files import write_atomic
from ralph.config.loading import load
from ralph.config.profile_settings import ReviewedSettings
from ralph.config.root import STATE_FOLDER, Root
from ralph.domain.holder import Mode
from ralph.domain.plan.document import TasksDocument, problems, read_document
from ralph.domain.plan.draft import title_problems
from ralph.domain.plan.modes import ReviewRules
from ralph.domain.plan.stop_checks import check_invariants, flat
from ralph.domain.text.figures import plural
from ralph.errors import UsageError

__all__ = [
    "MadePlan",
    "Plan",
    "PlanProblems",
    "check_plan",
    "find_plan",
    "is_template",
    "new_plan",
    "review_rules",
    "without_a_run",
]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a project."""

    root: Root
    files: PlanFiles

    @property
    def name(self) -> str:
        """Its directory, seen from the project."""
        return self.files.folder

    @property
    def path(self) -> Path:
        return self.files.path

    @property
    def state_folder(self) -> Path:
        return self.root.state / STATE_FOLDER

    @property
    def unjudged_note(self) -> str:
        """That tasks.json may claim more than was judged; empty if it does not."""
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
    folder = require_plan(root.workspace, ralph_dir or _usual_folder(root))
    return Plan(root, PlanFiles(root.workspace, folder, write_atomic))


def new_plan(root: Root, ralph_dir: Path | None, *, name: str | None) -> MadePlan:
    """Write the files that are missing; what exists is never overwritten."""
    folder = plan_folder(root.workspace, ralph_dir or _usual_folder(root))
    return make_plan(root.workspace, folder, name=name, date=time.strftime("%Y-%m-%d"), write=write_atomic)


def review_rules(root: Root, *, cap: int | None, skip: bool) -> ReviewRules:
    """As the options say, else as the settings do."""
    own = _settings(root)
    return ReviewRules(cap or own.review_cap, skip or own.skip_review, own.at_cap == "block")


def _settings(root: Root) -> ReviewedSettings:
    return load(root.state, environ=os.environ).settings.profiles.reviewed


def _usual_folder(root: Root) -> Path:
    return Path(_settings(root).plan_folder)


@contextmanager
def without_a_run(root: Root) -> Iterator[None]:
    """A run reads and writes the plan: none is under way, and none can start, during the block."""
    folder = root.state / STATE_FOLDER
    if not (folder / "ralph.db").exists():
        yield
        return
    from ralph.adapters.processes.identity import started_of, this_process
    from ralph.adapters.storage.claims import Claims
    from ralph.adapters.storage.database import open_state_database

    with closing(open_state_database(folder)) as database:
        claims = Claims(database, me=this_process(), started_of=started_of)
        with claims.holding(str(root.workspace), Mode.PLANNING, now=time.time()):
            yield


# --- checking ---


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
