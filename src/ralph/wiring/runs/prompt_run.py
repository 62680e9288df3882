"""Runs of one prompt: profiles ``basic`` and ``promise``."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ralph.adapters.signals.probes import TagProbe
from ralph.config.loading import Loaded, with_origins
from ralph.config.root import Root
from ralph.config.schema import Settings, iterations_of
from ralph.config.sources import Flag
from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.budget import Pace
from ralph.domain.loop.completion import Completion
from ralph.domain.loop.profile import Profile
from ralph.domain.loop.prompt import AsGiven
from ralph.domain.loop.state import LoopState
from ralph.engine.ports import Action, AgentRequest, Command, PromptStyle
from ralph.engine.prompts.advisers import CompletionAdviser
from ralph.engine.prompts.work import PromptWork
from ralph.engine.recording import Listener
from ralph.errors import StoreError, UsageError
from ralph.values import dataclass
from ralph.wiring.agents import chosen_agents
from ralph.wiring.announcement import proof_policy
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Composed, Launch
from ralph.wiring.profiles import known_profiles, load_profile
from ralph.wiring.proof import prompt_layers
from ralph.wiring.requirements import (
    delivery_demands,
    guardrails_of,
    is_delivered,
    require_runnable,
    require_scm,
    scm_demands,
)

PROFILES = ("basic", "promise")


@dataclass(frozen=True, slots=True)
class Prompt:
    """Exactly one of the two is given."""

    text: str | None = None
    file: Path | None = None

    def read(self) -> str:
        if self.file is not None:
            from ralph.adapters.documents.prompt_source import read_prompt_file

            return read_prompt_file(self.file)
        assert self.text is not None
        return self.text

    def settle(self, root: Root, settings: Settings, profile: Profile) -> Prompt:
        """As the user names it: a link leads to where it leads now, whatever becomes of it during the run."""
        if self.file is None:
            return self
        from ralph.wiring.named_places import settle_place

        return Prompt(file=settle_place(self.file, "the prompt file", root, settings, profile))


@dataclass(frozen=True, slots=True)
class PromptComposition:
    """One prompt until its tag is believed."""

    profile: Profile
    prompt: Prompt
    completion: str
    with_count: bool = False
    is_hinted: bool = True  # a prompt that does not name the claim gets a line that does

    def arguments(self) -> Mapping[str, object]:
        return {
            "prompt": self.prompt.text,
            "promptFile": str(self.prompt.file) if self.prompt.file is not None else None,
            "completionHint": self.is_hinted,
        }

    def describe(self) -> Mapping[str, object]:
        return {**self.arguments(), "prompt": self.prompt.text or "", "completion": self.completion}

    def warnings(self, launch: Launch) -> Iterator[str]:
        if doubt := self.claim.doubt(self.prompt.read()):
            yield doubt
        if not launch.guardrails:
            from ralph.adapters.project_checks import find_checks

            word = "no guardrails are configured: the agent's word alone decides when the work is done"
            suggested = " ".join(
                f"--guardrail {shlex.quote(each.command)}"
                for each in find_checks(launch.root.workspace).usable
            )
            yield f"{word}; this project suggests {suggested}" if suggested else word

    def notes(self) -> list[str]:
        """What ralph adds to the prompt."""
        if not self.claim.lacks_line(self.prompt.read()):
            return []
        return [f"added to the prompt: {self.claim.line} (not with --no-completion-hint)"]

    @property
    def claim(self) -> Completion:
        is_continued = self.profile.prompt == "continuation"
        return Completion(self.profile.tag, self.completion, self.is_hinted, first_only=is_continued)

    def style(self) -> PromptStyle:
        if self.profile.prompt == "continuation":
            from ralph.domain.promise.loop_state import ContinuationStyle

            return ContinuationStyle(self.completion)
        return AsGiven(with_count=self.with_count)

    def first_prompt(self, maximum: int | None) -> str:
        assignment = Assignment(key="prompt", objective=self.prompt.read())
        advice = self.claim.advice(LoopState(), assignment)
        return self.style()(assignment, advice, iteration=1, maximum=maximum)

    def first_command(self, launch: Launch) -> tuple[Command, str]:
        """What the first iteration would start, and the prompt it would send."""
        text = self.first_prompt(launch.maximum)
        folder = launch.state_folder / "runs" / "RUN"
        request = AgentRequest(
            prompt=text,
            prompt_file=folder / "prompt_001.txt",
            log_file=folder / "agent_001.ndjson",
            cwd=launch.root.workspace,
        )
        return launch.agents.first.command(request), text

    @asynccontextmanager
    async def compose(self, kit: Kit) -> AsyncIterator[Composed]:
        port, branch = None, ""
        if is_delivered(kit.launch.settings):
            from ralph.wiring.delivery import open_port, take_branch

            port = await open_port(kit)
            branch = await take_branch(kit, port, self.title)
        agent = kit.agent(tags=(self.profile.tag,))
        actions: list[Action] = []
        warnings: Sequence[str] = ()
        if (scm := kit.scm(agent, completion=self.completion)) is not None:
            warnings = list(await scm.prepare())
            actions.append(scm)
        listeners: list[Listener] = []
        if self.profile.prompt == "continuation" and kit.record.holds:
            listeners.append(self._loop_state_listener(kit))
        proof = await prompt_layers(kit)
        if scm is not None and proof.guard is not None:
            await scm.keep_to(proof.guard)
        composed = Composed(
            work=PromptWork(
                self.prompt.read, promise=self.completion if self.profile.tag == "promise" else ""
            ),
            agent=agent,
            probes=[TagProbe(self.profile.tag, self.completion, first=self.profile.first_tag_decides)],
            checks=[*kit.guardrails(), *proof.checks],
            begin=proof.begin,
            advisers=[*proof.advisers, CompletionAdviser(self.claim)],
            notes=self.notes(),
            proof=proof_policy(kit.launch, kit.runners.own, has_commands=bool(kit.launch.guardrails)),
            actions=actions,
            prompt=self.style(),
            rules=kit.launch.rules(),
            pace=Pace(self.profile.restart_delay),
            workspace=kit.git_workspace(),
            listeners=listeners,
            warnings=[*warnings, *proof.warnings],
        )
        if port is not None:
            from ralph.domain.delivery.texts import Purpose
            from ralph.wiring.delivery import deliver_after

            composed = deliver_after(
                kit,
                composed,
                port,
                branch,
                purpose=Purpose(title=self.title, text=self.prompt.read()),
                prove=kit.guardrails(),
                checks=[*kit.guardrails(), *proof.checks],
                rebase=proof.rebase,
                accepting=proof.accepting,
            )
        yield composed
        await proof.end()

    @property
    def title(self) -> str:
        """The first line of the prompt."""
        return next(
            (line.strip("# ").strip() for line in self.prompt.read().splitlines() if line.strip("# ")), ""
        )

    def _loop_state_listener(self, kit: Kit) -> Listener:
        """Shows the run to others in `.ralph/state/ralph-loop.json`."""
        from ralph.adapters.storage.state_files import LoopStateListener, loop_state_file

        file = loop_state_file(kit.workspace, report=kit.complain, now=kit.clock.now)
        return LoopStateListener(
            file,
            kit.record.run_id,
            task=kit.runners.redactor.redact(self.prompt.read()),
            promise=self.completion,
            started_at=kit.clock.now(),
        )


def profile_of_run(name: str) -> Profile:
    """Raises UsageError for one that `ralph run` does not take, with what does."""
    known = known_profiles()
    if name not in known:
        others = (load_profile(other) for other in known if other not in PROFILES)
        commands = ", ".join(f"{other.name} is `{other.command}`" for other in others)
        message = f"unknown profile {name!r}"
        raise UsageError(message, hint=f"`ralph run` takes {' and '.join(PROFILES)}; {commands}")
    profile = load_profile(name)
    if name not in PROFILES:
        message = f"profile {name} is not run by a prompt alone"
        raise UsageError(message, hint=f"its command is `{profile.command}`")
    return profile


def prepare_run(
    settings: Settings | Loaded,
    root: Root,
    prompt: Prompt,
    *,
    profile: str = "basic",
    flags: Sequence[Flag] = (),
    resumes: str = "",
    is_hinted: bool | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Resolve everything, and raise whatever can be known to be wrong before anything is started or written.

    ``settings``: as they were loaded; ``Settings`` alone, with the ``flags``, from a program that made its own.
    ``is_hinted``: whether the run told its agent how to claim; None: as the settings say.
    """
    loaded = settings if isinstance(settings, Loaded) else with_origins(settings, root.state, environ, flags)
    settings = loaded.settings
    require_runnable(settings)
    kind = profile_of_run(profile)
    prompt = prompt if resumes else prompt.settle(root, settings, kind)
    prompt.read()
    agents = chosen_agents(settings, root.workspace, environ=environ)
    require_scm(settings, root.workspace, environ)
    completion = settings.completion_response
    if kind.name == "promise":
        completion = settings.profiles.promise.completion_promise
    return Launch(
        profile=kind,
        loaded=loaded,
        settings=settings,
        root=root,
        agents=agents,
        composition=PromptComposition(
            kind,
            prompt,
            completion,
            with_count=settings.include_iteration_count_in_prompt,
            is_hinted=settings.completion_hint if is_hinted is None else is_hinted,
        ),
        maximum=iterations_of(settings, kind.name),
        guardrails=guardrails_of(settings),
        resumes=resumes,
        demands=(*scm_demands(settings, root.workspace), *delivery_demands(settings, root.workspace)),
    )


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    text, file = arguments.get("prompt"), arguments.get("promptFile")
    if (
        not isinstance(text, str | None)
        or not isinstance(file, str | None)
        or (text is None) == (file is None)
    ):
        message = f"the request of run {resumes} does not say what its prompt was"
        raise StoreError(message, hint="start a new run with `ralph run`")
    prompt = Prompt(text, Path(file) if file is not None else None)
    # Runs of an earlier version do not say: only those of `promise` had the line.
    is_hinted = arguments.get("completionHint", profile.prompt == "continuation") is True
    return prepare_run(loaded, root, prompt, profile=profile.name, resumes=resumes, is_hinted=is_hinted)
