"""Prepare a run: everything is resolved, and whatever can be known to be wrong is raised before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ralph.config.loading import Loaded
    from ralph.config.root import Root
    from ralph.wiring.launch import Launch


class GivenPrompt(NamedTuple):
    """Exactly one of the two is given; a file is read again for every iteration."""

    text: str | None = None
    file: Path | None = None


def require_prompt_profile(name: str) -> None:
    """Raises UsageError for a profile that a prompt alone does not run, with the command that does."""
    from ralph.wiring.runs.prompt_run import profile_of_run

    profile_of_run(name)


def prepare_prompt_run(
    loaded: Loaded,
    root: Root,
    prompt: GivenPrompt,
    *,
    profile: str = "basic",
) -> Launch:
    """`ralph run`. Raises whatever can be known to be wrong before anything is started or written."""
    from ralph.wiring.runs.prompt_run import Prompt, prepare_run

    return prepare_run(loaded, root, Prompt(*prompt), profile=profile)


def prepare_supervised_run(
    loaded: Loaded,
    root: Root,
    *,
    prompt: GivenPrompt | None,
    command: Sequence[str] = (),
    task: str = "",
    project: str = "",
    task_folder: Path | None = None,
) -> Launch:
    """`ralph supervise`. Raises whatever can be known to be wrong before anything is started or written."""
    from ralph.wiring.runs.prompt_run import Prompt
    from ralph.wiring.runs.supervised_run import prepare_supervised

    return prepare_supervised(
        loaded,
        root,
        prompt=None if prompt is None else Prompt(*prompt),
        command=command,
        task=task,
        project=project,
        task_folder=task_folder,
    )


def prepare_work_run(loaded: Loaded, root: Root, tasks: Sequence[str] = ()) -> Launch:
    """`ralph work`: on these tasks, or on whatever is ready."""
    from ralph.wiring.runs.work_run import prepare_work

    return prepare_work(loaded, root, tasks)


class PlanLaunch(NamedTuple):
    """``estimate``: about how many iterations the stories will need; empty if nobody can say."""

    launch: Launch
    estimate: str


def prepare_plan_run(
    loaded: Loaded,
    root: Root,
    *,
    ralph_dir: Path | None = None,
    skip_review: bool = False,
    review_cap: int | None = None,
    stay: bool = False,
    as_found: bool = False,
) -> PlanLaunch:
    """`ralph plan run`."""
    from ralph.wiring.runs.plan_run import estimate_of, prepare_reviewed

    launch = prepare_reviewed(
        loaded,
        root,
        ralph_dir=ralph_dir,
        skip_review=skip_review,
        review_cap=review_cap,
        stay=stay,
        as_found=as_found,
    )
    return PlanLaunch(launch, estimate_of(launch))


class DraftLaunch(NamedTuple):
    launch: Launch
    has_prd: bool


def prepare_draft_run(
    loaded: Loaded,
    root: Root,
    *,
    ralph_dir: Path,
    description: str,
    remarks: Sequence[str] = (),
    has_prd: bool | None = None,
    rounds: int,
) -> DraftLaunch:
    """`ralph plan draft`. ``has_prd``: whether a PRD is given, not to be drafted; None: look."""
    from ralph.wiring.runs.draft_run import prepare_draft

    launch = prepare_draft(
        loaded,
        root,
        ralph_dir=ralph_dir,
        description=description,
        remarks=remarks,
        has_prd=has_prd,
        rounds=rounds,
    )
    return DraftLaunch(launch, bool(launch.composition.arguments()["hasPrd"]))
