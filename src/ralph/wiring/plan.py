"""What a run would be: profile + settings + what the user asked, resolved and checked, nothing started yet."""

from __future__ import annotations

import os
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ralph.adapters.agents.registry import KNOWN_AGENTS, PLAIN, adapter_for, infer, split_flags
from ralph.adapters.checks.command import Guardrail
from ralph.adapters.storage.run_request import RunRequest
from ralph.adapters.work.prompt_source import read_prompt_file
from ralph.config.loading import effective, missing_for_run
from ralph.config.root import STATE_FOLDER, Root, git_top
from ralph.config.schema import Settings
from ralph.config.sources import Flag
from ralph.domain.assignment import Assignment
from ralph.domain.decision import Acceptance
from ralph.domain.feedback import Feedback
from ralph.domain.profile import Profile
from ralph.domain.prompt import compose, with_iteration_count
from ralph.domain.signals import any_tag_claims, find_tags
from ralph.domain.slug import unique_slugs
from ralph.engine.ports import (
    AgentAdapter,
    AgentRequest,
    Command,
    PromptStyle,
)
from ralph.errors import AgentUnavailable, ConfigError, UsageError

if TYPE_CHECKING:
    from ralph.domain.prices import Price


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
    own_prices: Mapping[str, Price] = field(default_factory=dict)
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
        chain = zip(
            (self.adapter, *self.fallbacks),
            (self.settings.agent.command, *self.settings.agent.fallbacks),
            strict=True,
        )
        return ", then ".join(
            adapter.name if adapter.name != PLAIN else f"{PurePath(command).name} (plain)"
            for adapter, command in chain
        )

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
            from ralph.domain.continuation import ContinuationStyle

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
    folder = Path(__file__).parent.with_name("profiles")
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
    try:
        _require_agent(settings.agent.command, name, root.workspace, path)
    except AgentUnavailable:
        if not any(shutil.which(stand_in, path=path) for stand_in in settings.agent.fallbacks):
            raise
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
        own_prices=_prices(settings) if settings.prices else {},
        flags=tuple(flags),
        resumes=resumes,
    )


def _prices(settings: Settings) -> dict[str, Price]:
    from ralph.domain.prices import Price

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
    return own


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
    if PurePath(program).name == "git" and git_top(workspace) is None:
        message = f"scm is configured, but {workspace} is not a git repository"
        raise ConfigError(message, hint="run `git init` there, or remove scm from .ralph/settings.json")


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
