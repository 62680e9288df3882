"""Start a run: prepare it (raising whatever is wrong before anything is started or written), open it, drive it.

Each kind of run loads only what it needs.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.errors import RalphError
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.config.loading import Loaded
    from ralph.config.root import Root
    from ralph.domain.views.runs import RunLabel
    from ralph.engine.loop import RunResult as RunResult
    from ralph.engine.recording import Listener as Listener
    from ralph.wiring.kit import Kit
    from ralph.wiring.launch import Launch as Launch


@dataclass(frozen=True, slots=True)
class GivenPrompt:
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

    return prepare_run(loaded, root, Prompt(prompt.text, prompt.file), profile=profile)


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
        prompt=None if prompt is None else Prompt(prompt.text, prompt.file),
        command=command,
        task=task,
        project=project,
        task_folder=task_folder,
    )


def prepare_work_run(
    loaded: Loaded, root: Root, tasks: Sequence[str] = (), *, source: str = "", watch: bool = False
) -> Launch:
    """`ralph work`: on these tasks, or on whatever is ready here, and in ``source``."""
    from ralph.wiring.runs.work_run import prepare_work

    return prepare_work(loaded, root, tasks, source=source, stays=watch)


def prepare_ship_run(
    loaded: Loaded, root: Root, target: str = "", *, base: str = "", title: str = "", watch: bool = False
) -> Launch:
    """`ralph ship`: a branch or a pull request, by default the branch that is checked out."""
    from ralph.wiring.runs.ship_run import prepare_ship

    return prepare_ship(loaded, root, target, base=base, title=title, stays=watch)


def prepare_review_run(
    loaded: Loaded, root: Root, what: str = "", *, base: str = "", rounds: int | None = None
) -> Launch:
    """`ralph review`: a branch, a commit, a range or a pull request, by default what is checked out."""
    from ralph.operations.reviews import require_reviewable
    from ralph.wiring.runs.review_run import ROUNDS, prepare_review

    launch = prepare_review(loaded, root, what, base=base, rounds=rounds or ROUNDS)
    require_reviewable(launch, what, base)
    return launch


def prepare_plan_run(
    loaded: Loaded,
    root: Root,
    *,
    ralph_dir: Path | None = None,
    skip_review: bool = False,
    review_cap: int | None = None,
    stay: bool = False,
    as_found: bool = False,
) -> tuple[Launch, str]:
    """`ralph plan run`, and about how many iterations the stories will take (empty if unknown)."""
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
    return launch, estimate_of(launch)


def prepare_draft_run(
    loaded: Loaded,
    root: Root,
    *,
    ralph_dir: Path,
    description: str,
    remarks: Sequence[str] = (),
    has_prd: bool | None = None,
    rounds: int,
) -> tuple[Launch, bool]:
    """`ralph plan draft`, and whether the PRD is given rather than drafted. ``has_prd`` None: find out."""
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
    return launch, bool(launch.composition.arguments()["hasPrd"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Without secrets; ``guardrails`` are pairs of a command and its fail action."""

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
    proof: str  # empty: there is nothing to prove a claim with
    sandbox: str
    prompt: str


def sandbox_words(launch: Launch) -> str:
    """Which sandbox the run asks for, or what it means that it has none."""
    from ralph.wiring.confinement import without_sandbox

    asked = launch.settings.sandbox.kind or launch.profile.sandbox
    return without_sandbox(launch) or f"sandbox {asked}"


def preview_run(launch: Launch) -> Preview:
    """What the first iteration of a prompt run would do. Starts and writes nothing."""
    from ralph.adapters.processes.redaction import redact_argv
    from ralph.domain.text.masking import mask_all, mask_text
    from ralph.wiring.announcement import proof_policy
    from ralph.wiring.confinement import own_programs_of
    from ralph.wiring.runs.prompt_run import PromptComposition

    composition, profile, scm = launch.composition, launch.profile, launch.settings.scm
    assert isinstance(composition, PromptComposition)
    start, prompt = composition.first_command(launch)
    own = own_programs_of(launch, os.environ)
    proof = proof_policy(launch, own, has_commands=bool(launch.guardrails))
    preview = Preview(
        workspace=launch.root.workspace,
        profile=f"{profile.name} ({profile.summary})",
        maximum=launch.maximum,
        completion=f"<{profile.tag}>{composition.completion}</{profile.tag}>",
        agent=launch.agent,
        command=redact_argv(start.argv),
        gets_prompt_on_stdin=start.has_input,
        notes=(*launch.agents.first.notes, *composition.notes()),
        guardrails=[(guardrail.command, str(guardrail.placement)) for guardrail in launch.guardrails],
        warnings=list(launch.warnings()),
        scm=[f"{scm.command} {task}" for task in scm.tasks] if scm is not None else (),
        proof=proof.words if proof is not None else "",
        sandbox=sandbox_words(launch),
        prompt=prompt,
    )
    return mask_all(preview, mask_text)


# --- run ---


class Run:
    """Can be stopped as soon as it is made, inside a running event loop; once open, it holds its workspace and other
    processes can ask things of it."""

    def __init__(self, launch: Launch) -> None:
        from ralph.adapters.clock import SystemClock
        from ralph.adapters.control.run_control import RunControl

        self._launch = launch
        self._control = RunControl(SystemClock())
        self._kit: Kit | None = None

    @asynccontextmanager
    async def open(
        self,
        listeners: Sequence[Listener],
        *,
        complain: Callable[[str], None],
        listeners_for: Callable[[RunLabel], Sequence[Listener]],
    ) -> AsyncIterator[OpenRun]:
        """``listeners_for`` gives the listeners of a run that is part of this one."""
        from ralph.wiring import assembly
        from ralph.wiring.confinement import asks_for_sandbox, own_programs_of

        launch = self._launch
        if asks_for_sandbox(launch.settings, launch.profile):
            from ralph.adapters.isolation.own_places import leave_reach

            leave_reach(own_programs_of(launch, os.environ))
        async with assembly.open_run(
            launch, self._control, listeners, complain=complain, listeners_for=listeners_for
        ) as self._kit:
            yield OpenRun(self._kit)

    @property
    def is_open(self) -> bool:
        return self._kit is not None

    @property
    def is_stopping(self) -> bool:
        return self._control.stopping

    def stop(self, *, now: bool = False, why: str = "") -> None:
        """After the current step; asked twice, or with ``now``, at once. ``why``: if it is not what the user asked for."""
        from ralph.domain.loop.events import StopRequested, Warned

        requested = StopRequested(now=self._control.request(now=now, why=why))
        if self._kit is None:  # there is no step yet; the end of the run will say it
            return
        with suppress(RalphError):  # nothing can be put on record any more, which ends the run by itself
            if why:
                self._kit.publish(Warned(f"{why}: the run ends, and `ralph resume` continues it"))
            self._kit.publish(requested)


class OpenRun:
    """A run that holds its workspace and whose record is open."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    @property
    def run_id(self) -> str:
        return self._kit.record.run_id

    async def drive(self) -> RunResult:
        from ralph.wiring import assembly

        return await assembly.drive(self._kit)


def has_parts(launch: Launch) -> bool:
    """Whether it is a run of runs."""
    from ralph.wiring.launch import Driven

    return isinstance(launch.composition, Driven)
