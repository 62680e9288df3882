"""Prepare a run: resolve everything and raise whatever is wrong before anything is started or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ralph.config.loading import Loaded
    from ralph.config.root import Root
    from ralph.wiring.launch import Launch


class GivenPrompt(NamedTuple):
    """Exactly one of the two is given; a file is read again for each iteration."""

    text: str | None = None
    file: Path | None = None


def require_prompt_profile(name: str) -> None:
    """Raises UsageError, naming the command to use, for a profile that needs more than a prompt."""
    from ralph.wiring.runs.prompt_run import profile_of_run

    profile_of_run(name)


def prepare_prompt_run(loaded: Loaded, root: Root, prompt: GivenPrompt, *, profile: str = "basic") -> Launch:
    """`ralph run`."""
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
    """`ralph supervise`."""
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
    """``estimate``: about how many iterations the stories will take; empty if unknown."""

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
    """`ralph plan draft`. ``has_prd``: whether the PRD is given rather than drafted; None: find out."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """``command`` has its secrets masked; ``guardrails`` are pairs of a command and its fail action."""

    workspace: Path
    profile: str
    maximum: int | None
    completion: str
    agent: str
    command: str
    gets_prompt_on_stdin: bool
    notes: Sequence[str]
    guardrails: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    scm: Sequence[str]
    prompt: str


def preview_run(launch: Launch) -> Preview:
    """What the first iteration of a prompt run would do. Starts and writes nothing."""
    from ralph.adapters.processes.redaction import redact_argv
    from ralph.wiring.runs.prompt_run import PromptComposition

    composition, profile, scm = launch.composition, launch.profile, launch.settings.scm
    assert isinstance(composition, PromptComposition)
    start, prompt = composition.first_command(launch)
    return Preview(
        workspace=launch.root.workspace,
        profile=f"{profile.name} ({profile.summary})",
        maximum=launch.maximum,
        completion=f"<{profile.tag}>{composition.completion}</{profile.tag}>",
        agent=launch.agent,
        command=redact_argv(start.argv),
        gets_prompt_on_stdin=start.stdin is not None,
        notes=launch.agents.first.notes,
        guardrails=[(guardrail.command, str(guardrail.placement)) for guardrail in launch.guardrails],
        warnings=list(launch.warnings()),
        scm=[f"{scm.command} {task}" for task in scm.tasks] if scm is not None else (),
        prompt=prompt,
    )
