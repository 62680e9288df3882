"""The composition root: profile + settings + what the user asked → the parts of one run."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from time import gmtime, localtime, strftime
from typing import TYPE_CHECKING

from ralph.adapters.actions.scm import ScmAction
from ralph.adapters.advice.advisers import InterruptionAdviser, SteeringAdviser, StuckAdviser
from ralph.adapters.agents.registry import KNOWN_AGENTS, PLAIN, adapter_for, infer, split_flags
from ralph.adapters.checks.command import CommandCheck, Guardrail
from ralph.adapters.clock import SystemClock
from ralph.adapters.control.run_control import RunControl
from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.processes.redaction import Redactor, redact_argv, secrets_in
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.shell import shell_argv
from ralph.adapters.processes.watcher import end_run_processes, start_watcher
from ralph.adapters.signals.tag import TagProbe
from ralph.adapters.storage.claims import Claims
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal, TakenUp
from ralph.adapters.storage.loop_state_file import LoopStateListener, loop_state_file
from ralph.adapters.storage.receipts import write_receipt
from ralph.adapters.storage.run_request import RunRequest, save_request
from ralph.adapters.work.prompt_source import read_prompt_file
from ralph.adapters.work.prompt_work import PromptWork
from ralph.adapters.workspace.git import GitWorkspace
from ralph.config.loading import effective, missing_for_run
from ralph.config.root import STATE_FOLDER, Root
from ralph.config.schema import Settings
from ralph.config.sources import Flag
from ralph.domain.assignment import Assignment
from ralph.domain.budget import Budget, Pace
from ralph.domain.claim import Mode
from ralph.domain.continuation import ContinuationStyle
from ralph.domain.decision import Acceptance, Rules
from ralph.domain.feedback import Feedback
from ralph.domain.loop_events import RunStarted, Warned
from ralph.domain.prices import Price, Prices, cost_of, with_own
from ralph.domain.profile import Profile
from ralph.domain.prompt import compose, with_iteration_count
from ralph.domain.reset_time import reset_time
from ralph.domain.signals import any_tag_claims, find_tags
from ralph.domain.slug import unique_slugs
from ralph.domain.state import LoopState
from ralph.engine.fallback import FallbackAgent
from ralph.engine.metering import Meter
from ralph.engine.parts import LoopParts
from ralph.engine.ports import (
    Action,
    Adviser,
    Agent,
    AgentAdapter,
    AgentRequest,
    Command,
    Control,
    ProcessRunner,
    PromptStyle,
    Publish,
    Timeouts,
)
from ralph.engine.recording import Listener, Recorder
from ralph.engine.session import AgentSession
from ralph.errors import AgentUnavailable, ConfigError, UsageError

if TYPE_CHECKING:
    from ralph.adapters.notify.notifiers import Notifying


@dataclass(frozen=True, slots=True)
class Prompt:
    """Exactly one of the two is given."""

    text: str | None = None
    file: Path | None = None

    def read(self) -> str:
        if self.file is not None:
            return read_prompt_file(self.file)
        assert self.text is not None
        return self.text


@dataclass(frozen=True, slots=True)
class Plan:
    """A run as it would be started: everything resolved and checked, nothing done yet."""

    profile: Profile
    settings: Settings
    root: Root
    prompt: Prompt
    adapter: AgentAdapter
    guardrails: tuple[Guardrail, ...]
    maximum: int
    completion: str
    fallbacks: tuple[AgentAdapter, ...] = ()
    prices: Prices = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()  # what was given on the command line, for `ralph resume`
    resumes: str = ""  # the run to go on with; empty: a new one

    @property
    def state_folder(self) -> Path:
        return self.root.state / STATE_FOLDER

    def request(self) -> RunRequest:
        return RunRequest(
            profile=self.profile.name,
            prompt=self.prompt.text,
            prompt_file=str(self.prompt.file) if self.prompt.file is not None else None,
            workspace=str(self.root.workspace),
            flags=self.flags,
            settings=effective(self.settings),
        )

    @property
    def agent(self) -> str:
        """How people call it: a plain agent by its program."""
        name = self.adapter.name
        return name if name != PLAIN else f"{PurePath(self.settings.agent.command).name} (plain)"

    def warnings(self) -> Iterator[str]:
        """What would make a run pointless or its success worth little."""
        tag, expected = self.profile.tag, self.completion
        named = find_tags(self._first_prompt(), tag)
        if not any_tag_claims(named, tag, expected):
            other = f" (it names <{tag}>{named[0].content[:40]}</{tag}>)" if named else ""
            yield (
                f"the prompt does not name the completion tag{other}; tell the agent to output "
                f"<{tag}>{expected}</{tag}> when everything is done"
            )
        if not self.guardrails:
            yield "no guardrails are configured: the agent's word alone decides when the work is done"

    def prompt_style(self) -> PromptStyle:
        if self.profile.prompt == "continuation":
            return ContinuationStyle(self.completion)
        return _PromptStyle(with_count=self.settings.include_iteration_count_in_prompt)

    def first_command(self) -> tuple[Command, str]:
        """What the first iteration would start, and the prompt it would send."""
        text = self._first_prompt()
        folder = self.state_folder / "runs" / "RUN"
        request = AgentRequest(
            prompt=text,
            prompt_file=folder / "prompt_001.txt",
            log_file=folder / "agent_001.ndjson",
            cwd=self.root.workspace,
        )
        return self.adapter.command(request), text

    def _first_prompt(self) -> str:
        style = self.prompt_style()
        assignment = Assignment(key="prompt", objective=self.prompt.read())
        return style(assignment, (), iteration=1, maximum=self.maximum)


def load_profile(name: str) -> Profile:
    folder = Path(__file__).with_name("profiles")
    known = sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )
    if name not in known:
        message = f"unknown profile {name!r}"
        raise UsageError(message, hint=f"known profiles: {', '.join(known)}")
    data = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    return Profile(**{**data, "acceptance": Acceptance(data["acceptance"])})


def plan_run(
    settings: Settings,
    root: Root,
    prompt: Prompt,
    *,
    profile: str = "basic",
    flags: Sequence[Flag] = (),
    resumes: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Plan:
    """Resolve everything, and raise whatever can be known to be wrong before anything is started or written."""
    if os.name != "posix":
        message = "ralph runs agents on Linux and macOS only"
        raise UsageError(message, hint="on Windows, use the Windows Subsystem for Linux")
    if missing := missing_for_run(settings):
        message = f"{missing.key} {missing.message}"
        raise ConfigError(message, hint=missing.hint)
    prompt.read()
    slugs = unique_slugs(guardrail.command for guardrail in settings.guardrails)
    guardrails = tuple(
        Guardrail(
            command=guardrail.command,
            slug=slug,
            placement=guardrail.fail_action,
            hint=guardrail.hint,
            timeout=guardrail.timeout if guardrail.timeout is not None else settings.guardrail_timeout,
            idle_timeout=settings.guardrail_idle_timeout,
            keep=guardrail.keep or settings.truncation.keep,
            name=guardrail.name,
        )
        for guardrail, slug in zip(settings.guardrails, slugs, strict=True)
    )
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    name = settings.agent.adapter or infer(settings.agent.command)
    adapter = adapter_for(
        name,
        command=settings.agent.command,
        flags=split_flags(settings.agent.flags),
        as_root=as_root,
    )
    path = settings.agent.environment.get("PATH", environ.get("PATH", os.defpath))
    _require_agent(settings.agent.command, name, root.workspace, path)
    _require_scm(settings, root.workspace, path)
    kind = load_profile(profile)
    section = settings.profiles.get(kind.name, {})
    return Plan(
        kind,
        settings,
        root,
        prompt,
        adapter,
        guardrails,
        maximum=_maximum(kind, settings, section),
        completion=_completion(kind, settings, section),
        fallbacks=tuple(
            adapter_for(infer(command), command=command, flags=(), as_root=as_root)
            for command in settings.agent.fallbacks
        ),
        prices=_prices(settings),
        flags=tuple(flags),
        resumes=resumes,
    )


def _prices(settings: Settings) -> Prices:
    own: dict[str, Price] = {}
    for model, figures in settings.prices.items():
        known = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheWrite": "cache_write"}
        values = {known[key]: value for key, value in figures.items() if key in known}
        wrong = [
            key
            for key, value in figures.items()
            if key not in known or isinstance(value, bool) or not isinstance(value, int | float) or value < 0
        ]
        if wrong or not {"input", "output"} <= values.keys():
            message = (
                f"prices.{model}: expected input, output and perhaps cacheRead and cacheWrite in US dollars"
            )
            raise ConfigError(message, hint="per million tokens, numbers of at least 0")
        own[model] = Price(**{key: float(str(value)) for key, value in values.items()})
    return with_own(own)


def _maximum(profile: Profile, settings: Settings, section: Mapping[str, object]) -> int:
    if profile.maximum_iterations is None:
        return settings.maximum_iterations
    value = section.get("maximumIterations", profile.maximum_iterations)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"profiles.{profile.name}.maximumIterations: expected a whole number of at least 1, found {value!r}"
        raise ConfigError(message, hint="mend it in .ralph/settings.json, or give -m")
    return value


def _completion(profile: Profile, settings: Settings, section: Mapping[str, object]) -> str:
    if profile.completion is None:
        return settings.completion_response
    value = section.get("completionPromise", profile.completion)
    if not isinstance(value, str) or not value.strip():
        message = f"profiles.{profile.name}.completionPromise: expected a text, found {value!r}"
        raise ConfigError(message, hint="mend it in .ralph/settings.json, or give --completion-promise")
    return value


def _require_agent(command: str, name: str, workspace: Path, path: str) -> None:
    how = KNOWN_AGENTS[name]
    if os.sep in command:
        file = workspace / command
        if file.is_dir():
            message = f"agent {command} is a directory"
            raise AgentUnavailable(message, hint="set agent.command to the program in it")
        if file.is_file() and not os.access(file, os.X_OK):
            message = f"agent {command} is not executable"
            raise AgentUnavailable(message, hint=f"chmod +x {command}")
        found = file.is_file()
    else:
        found = shutil.which(command, path=path) is not None
    if not found:
        message = f"agent not found: {command}"
        if " " in command:
            hint = "agent.command is the program alone; put its arguments into agent.flags"
        elif name == PLAIN:
            hint = "install it, or set agent.command to its path"
        else:
            hint = f"install it ({how}), or set agent.command to its path"
        raise AgentUnavailable(message, hint=hint)


def _require_scm(settings: Settings, workspace: Path, path: str) -> None:
    if settings.scm is None or not settings.scm.tasks:
        return
    program = _words("scm.command", settings.scm.command)[0]
    for task in settings.scm.tasks:
        _words("scm.tasks", task)
    if shutil.which(program, path=path) is None and not (workspace / program).is_file():
        message = f"scm.command not found: {program}"
        raise ConfigError(message, hint="install it, or remove scm from .ralph/settings.json")
    if PurePath(program).name == "git" and not _is_in_git(workspace):
        message = f"scm is configured, but {workspace} is not a git repository"
        raise ConfigError(message, hint="run `git init` there, or remove scm from .ralph/settings.json")


def _is_in_git(workspace: Path) -> bool:
    return any((folder / ".git").exists() for folder in (workspace, *workspace.parents))


def _words(key: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        message = f"{key}: cannot split {text!r} into words: {str(error).lower()}"
        raise ConfigError(message, hint="close the quote, or escape it with a backslash") from error
    if not words:
        message = f"{key}: {text!r} is empty"
        raise ConfigError(message, hint="name a command")
    return words


def new_run_id(now: float) -> str:
    """Sorts by time, and two runs of one second still differ."""
    return f"{strftime('%Y%m%d-%H%M%S', gmtime(now))}-{os.urandom(2).hex()}"


@asynccontextmanager
async def assembled(
    plan: Plan,
    control: Control,
    listeners: Sequence[Listener],
    *,
    complain: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
) -> AsyncIterator[LoopParts]:
    """The parts of a run, with its workspace claimed, its record open and its watcher on guard until the block ends."""
    settings, clock = plan.settings, SystemClock()
    workspace = plan.root.workspace
    run_id = plan.resumes or new_run_id(clock.now())
    parent_id = environ.get("RALPH_RUN_ID", "")
    me = this_process()
    environment = {**environ, **settings.agent.environment}
    redactor = Redactor(secrets_in(environment))
    options = {
        "prompt": redactor.redact(plan.prompt.text or ""),
        "promptFile": str(plan.prompt.file) if plan.prompt.file is not None else None,
        "maximumIterations": plan.maximum,
        "completion": plan.completion,
        "agent": redactor.redact(redact_argv([settings.agent.command, *split_flags(settings.agent.flags)])),
    }
    with (
        closing(open_state_database(plan.state_folder)) as database,
        Claims(database, me=me, started_of=started_of).holding(
            str(workspace), Mode.EXECUTING, run_id=run_id, inherited=parent_id, now=clock.now()
        ),
        SqliteJournal(plan.state_folder, database, run_id, owner=me, now=clock.now()) as journal,
        start_watcher(run_id),
    ):
        if plan.resumes:
            end_run_processes(run_id)  # whatever an earlier process of this run could not end
            taken_up = journal.take_up(options=options)
        else:
            # Before the run is on record: one that can be seen can be resumed.
            save_request(journal.run_folder, plan.request())
            journal.begin(
                profile=plan.profile.name,
                agent=plan.agent,
                root=workspace,
                options=options,
                parent_id=parent_id,
            )
            taken_up = TakenUp(LoopState(), was_cut=False)
        controls = Controls(database, plan.state_folder / "ralph.db", run_id)
        runner = PosixProcessRunner(run_id=run_id, base_environment=environ, redactor=redactor)
        agent_runner = PosixProcessRunner(run_id=run_id, base_environment=environment, redactor=redactor)
        budget = Budget(
            iterations=plan.maximum,
            cost_usd=settings.limits.max_cost,
            tokens=settings.limits.max_tokens,
            seconds=settings.limits.max_time,
            stuck_after=settings.limits.stuck_after,
        )
        meter = Meter(budget, taken_up.state.spend, now=clock.now, warn=complain)
        sessions = [
            AgentSession(
                adapter,
                agent_runner,
                tags=(plan.profile.tag,),
                show=lambda argv: redactor.redact(redact_argv(argv)),
                timeouts=Timeouts(settings.agent.timeout, settings.agent.idle_timeout),
                watch=meter.watch,
                price=lambda usage, model: cost_of(usage, model, plan.prices),
                reset_time=lambda text: reset_time(text, clock.now(), utc_offset=localtime().tm_gmtoff),
            )
            for adapter in (plan.adapter, *plan.fallbacks)
        ]
        session: Agent = FallbackAgent(sessions, clock) if plan.fallbacks else sessions[0]
        if plan.profile.prompt == "continuation":
            listeners = [*listeners, _loop_state_listener(plan, clock, complain)]
        listeners = [meter, *listeners]
        notifying = _notifying(settings.notify, runner, workspace, run_id, complain)
        if notifying is not None:
            listeners = [*listeners, notifying]
        publish = Recorder(journal, clock, listeners, complain=complain)
        checks = [
            CommandCheck(
                guardrail,
                runner=runner,
                journal=journal,
                shell=shell_argv,
                root=workspace,
                state_folder=plan.state_folder,
                truncate_chars=settings.output_truncate_chars,
            )
            for guardrail in plan.guardrails
        ]
        warnings = list(plan.warnings())
        actions: list[Action] = []
        if settings.scm is not None and settings.scm.tasks:
            scm = ScmAction(
                settings.scm.command,
                settings.scm.tasks,
                agent=session,
                runner=runner,
                journal=journal,
                root=workspace,
                memory=journal.run_folder / "untracked_before.json",
                completion=plan.completion,
                timeout=settings.scm.timeout,
            )
            warnings += await scm.prepare()
            actions.append(scm)
        publish(
            RunStarted(
                run_id=run_id,
                profile=plan.profile.name,
                agent=plan.agent,
                root=str(workspace),
                maximum=plan.maximum,
                notes=plan.adapter.notes,
            )
        )
        for warning in warnings:
            publish(Warned(warning))
        advisers: list[Adviser] = [SteeringAdviser(controls, clock, publish), StuckAdviser(budget)]
        if taken_up.was_cut:
            advisers.append(InterruptionAdviser(taken_up.state.iteration))
        parts = LoopParts(
            root=workspace,
            work=PromptWork(plan.prompt.read),
            agent=session,
            probes=[TagProbe(plan.profile.tag, plan.completion, first=plan.profile.first_tag_decides)],
            checks=checks,
            actions=actions,
            prompt=plan.prompt_style(),
            rules=Rules(
                acceptance=plan.profile.acceptance,
                max_attempts=settings.limits.max_attempts,
                faults_count=plan.profile.faults_count,
                wait_for_limits=settings.limits.wait_for_limits,
            ),
            budget=budget,
            advisers=advisers,
            workspace=GitWorkspace(workspace, runner) if _is_in_git(workspace) else None,
            state=taken_up.state,
            pace=Pace(plan.profile.restart_delay),
            journal=journal,
            clock=clock,
            control=control,
            publish=publish,
            redact=redactor.redact,
        )
        async with listening(control, controls, publish, complain):
            yield parts
        if notifying is not None:
            await notifying.finish()
        journal.flush()
        write_receipt(database, journal.run_folder, run_id)


def _notifying(
    kinds: Sequence[str], runner: ProcessRunner, root: Path, run_id: str, complain: Callable[[str], None]
) -> Notifying | None:
    if not kinds:
        return None
    # Imported here: it brings urllib along, which most runs do not need.
    from ralph.adapters.notify.notifiers import Notifying, notifier_for

    notifiers = [notifier_for(kind, runner=runner, root=root, shell=shell_argv) for kind in kinds]
    return Notifying(notifiers, run_id=run_id, complain=complain)


def _loop_state_listener(plan: Plan, clock: SystemClock, complain: Callable[[str], None]) -> Listener:
    """Shows the run to others in `.ralph/state/ralph-loop.json` (seed 000)."""
    file = loop_state_file(plan.root.workspace, report=complain, now=clock.now)
    return LoopStateListener(file, task=plan.prompt.read(), promise=plan.completion, started_at=clock.now())


@asynccontextmanager
async def listening(
    control: Control, controls: Controls, publish: Publish, complain: Callable[[str], None]
) -> AsyncIterator[None]:
    """Hear what other terminals ask, if the control can."""
    if not isinstance(control, RunControl):
        yield
        return

    def report(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            complain(f"requests from other terminals are no longer heard: {error}")

    task = asyncio.create_task(control.watch(controls, publish))
    task.add_done_callback(report)
    try:
        yield
    finally:
        task.cancel()


class _PromptStyle:
    """Seed 001: the prompt as given, with feedback, and the iteration count above all if wanted."""

    def __init__(self, *, with_count: bool) -> None:
        self._with_count = with_count

    def __call__(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str:
        prompt = compose(assignment.objective, feedback)
        if self._with_count and maximum is not None:
            return with_iteration_count(prompt, iteration=iteration, maximum=maximum)
        return prompt
