"""Which plan is meant: the options that every command of ``ralph plan`` has."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

from ralph.adapters.documents.plan_files import PlanFiles, plan_folder, require_plan
from ralph.adapters.files import write_atomic
from ralph.config.loading import load
from ralph.config.profile_settings import ReviewedSettings
from ralph.config.root import STATE_FOLDER, find_root
from ralph.domain.plan.document import TasksDocument, read_document
from ralph.domain.plan.modes import ReviewRules
from ralph.errors import UsageError

HELP_NAMES = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--project-dir`` and ``--ralph-dir``."""
    function = click.option(
        "--ralph-dir",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="The plan's directory in the project.  [default: ralph]",
    )(function)
    return click.option(
        "-d",
        "--project-dir",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="The project's directory, instead of the one found from here.",
    )(function)


def reviewed_settings(project_dir: Path | None) -> ReviewedSettings:
    root = find_root(Path.cwd(), project_dir)
    return load(root.state, environ=os.environ).settings.profiles.reviewed


def plan_place(project_dir: Path | None, ralph_dir: Path | None) -> tuple[Path, Path]:
    """The project, and where its plan is or would be."""
    root = find_root(Path.cwd(), project_dir).workspace
    return root, plan_folder(root, ralph_dir or _usual_folder(project_dir))


def plan_files(project_dir: Path | None, ralph_dir: Path | None) -> PlanFiles:
    """The files of a plan that is there."""
    root = find_root(Path.cwd(), project_dir).workspace
    return PlanFiles(root, require_plan(root, ralph_dir or _usual_folder(project_dir)), write_atomic)


@contextmanager
def without_a_run(project_dir: Path | None) -> Iterator[None]:
    """A run reads and writes the plan: none is under way, and none can begin, for the time of the block."""
    root = find_root(Path.cwd(), project_dir)
    if not (root.state / STATE_FOLDER / "ralph.db").exists():
        yield
        return
    from ralph.adapters.processes.identity import started_of, this_process
    from ralph.adapters.storage.claims import Claims
    from ralph.adapters.storage.database import open_state_database
    from ralph.domain.holder import Mode

    with closing(open_state_database(root.state / STATE_FOLDER)) as database:
        claims = Claims(database, me=this_process(), started_of=started_of)
        with claims.holding(str(root.workspace), Mode.PLANNING, now=time.time()):
            yield


def review_rules(project_dir: Path | None, *, cap: int | None, skip: bool) -> ReviewRules:
    """As the options say, else as the settings do."""
    own = reviewed_settings(project_dir)
    return ReviewRules(cap or own.review_cap, skip or own.skip_review, own.at_cap == "block")


def review_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--skip-review`` and ``--review-cap``, as `ralph plan run` has them."""
    function = click.option("--skip-review", is_flag=True, help="As for a run without reviews.")(function)
    return click.option(
        "--review-cap",
        metavar="N",
        type=click.IntRange(min=1),
        help="Reviews of one story before it is approved at the cap.  [default: the settings', 5]",
    )(function)


def _usual_folder(project_dir: Path | None) -> Path:
    return Path(reviewed_settings(project_dir).plan_folder)


def tasks_text(files: PlanFiles) -> str:
    text = files.read_tasks()
    if text is None:
        message = f"{files.folder}/tasks.json is not a readable UTF-8 text file of bearable size"
        raise UsageError(message, hint="check that it is a plain file, not a link or a folder")
    return text


def sound_document(files: PlanFiles) -> TasksDocument:
    """The document of a plan that can be worked with."""
    read = read_document(tasks_text(files))
    if isinstance(read, TasksDocument):
        return read
    number = "1 problem" if len(read) == 1 else f"{len(read)} problems"
    message = f"{files.folder}/tasks.json has {number}: {read[0]}"
    raise UsageError(message, hint="ralph plan check lists them all")
