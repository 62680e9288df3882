"""`ralph doctor --probe`: real sessions of an installed agent with the scripted model, in a home folder of their own.

Neither the user's account nor their files are used, and no tokens: the model is on this machine, and whatever honours a
proxy finds no way out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ralph.adapters.agents.installed_version import installed_version
from ralph.adapters.agents.loopback import Loopback, loopback_of
from ralph.adapters.agents.registry import acp_programs, adapter_for, facts_of
from ralph.adapters.processes.ladder import QUICK
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import start_watcher
from ralph.agent_names import ACP, PLAIN
from ralph.domain.agent.events import AgentEvent, SessionStarted
from ralph.domain.agent.options import NO_OPTIONS, Option, SessionOptions
from ralph.domain.loop.events import AgentActed, LoopEvent
from ralph.domain.text.versions import version_in
from ralph.domain.views.health import Finding, advice_on_drift
from ralph.domain.views.probe import (
    MODEL,
    READ_ONLY,
    RESUMED,
    ProbedAgent,
    Script,
    SeenSession,
    judge_events,
    judge_model,
    judge_probed_version,
    judge_read_only,
    judge_refusals,
    judge_resumed,
    judge_work,
    skip_feature,
)
from ralph.engine.ports import AgentRequest, Timeouts
from ralph.engine.session import AgentSession
from ralph.errors import UsageError
from ralph.operations.agent_examination import Interviewer, find_program
from ralph.operations.doctor import find_agents
from ralph.testing.model import ScriptedModel, Step, WriteFile
from ralph.values import dataclass, field

if TYPE_CHECKING:
    from ralph.adapters.processes.watcher import Watcher
    from ralph.config.root import Root

SESSION_SECONDS: Final = 90.0
"""The longest that one session may take; agents that try again by themselves need most of it."""
_AGENTS_AT_ONCE: Final = 2
_TAG: Final = "response"
_NOBODY: Final = "http://127.0.0.1:9"  # the port that discards: nothing listens there
_KEPT: Final = frozenset(
    {
        "ASDF_DATA_DIR", "FNM_DIR", "LANG", "LC_ALL", "LOGNAME", "MISE_DATA_DIR", "NODE_EXTRA_CA_CERTS", "NVM_DIR", "PATH",
        "SHELL", "TERM", "TZ", "USER", "VOLTA_HOME",
    }
)  # fmt: skip
"""What agents need of the user's environment to be found and started; no key, no address."""

SCRIPT: Final = Script(
    prompt="the line is tested with mark 5e7d01",
    words="The work begins with mark 5e7d02.",
    output="mark-42-5e7d03",
    claim="DONE",
)
_PROMPT: Final = f"Here {SCRIPT.prompt}: run the command, then output <{_TAG}>{SCRIPT.claim}</{_TAG}>."
_SHELL: Final = "printf 'mark-%s-5e7d03\\n' 42"  # what it prints is not what was asked for
_END: Final = Step(text=f"All done. <{_TAG}>{SCRIPT.claim}</{_TAG}>")
_WRITTEN: Final = "written.txt"


async def probe(
    root: Root,
    agent: str = "",
    *,
    environ: Mapping[str, str] = os.environ,
    begin: Callable[[], None] = lambda: None,
) -> tuple[ProbedAgent, ...]:
    """``agent``: by its name; empty: all that are installed. Raises UsageError for a name that nobody knows, before it calls
    ``begin``."""
    named, environment = find_agents(root, environ=environ)
    if agent in acp_programs():
        named = {agent: (ACP, agent), **named}
    if agent and agent not in named:
        message = f"unknown agent {agent!r}"
        raise UsageError(message, hint=f"agents here: {', '.join(named)}")
    begin()
    seats = asyncio.Semaphore(_AGENTS_AT_ONCE)

    async def probe_one(name: str, watcher: Watcher) -> ProbedAgent:
        kind, command = named[name]
        if kind == ACP:
            return ProbedAgent(name, obstacle="cannot be probed: it speaks ACP")
        program = find_program(command, root.workspace, environment.get("PATH", os.defpath))
        loopback = loopback_of(kind)
        if program is None:
            install = "" if kind == PLAIN else f"to install it: {facts_of(kind).install}"
            return ProbedAgent(name, obstacle="not installed", advice=install)
        if loopback is None:
            return ProbedAgent(name, obstacle="cannot be probed: it cannot be pointed at another model")
        async with seats:
            with TemporaryDirectory(prefix="ralph-probe-", ignore_cleanup_errors=True) as folder:
                bench = _Bench(name, kind, program, loopback, Path(folder), environment, watcher)
                return await bench.probe()

    with start_watcher(f"probe-{os.getpid()}") as watcher:
        found = await asyncio.gather(*(probe_one(name, watcher) for name in ([agent] if agent else named)))
    return tuple(each for each in found if agent or each.features)


def install_example() -> str:
    return f"for example claude: {facts_of('claude').install}"


@dataclass(slots=True)
class _Bench:
    """An agent in a folder of its own: its home, a repository, and the sessions that were seen there."""

    name: str
    kind: str
    program: str
    loopback: Loopback
    folder: Path
    environment: Mapping[str, str]
    watcher: Watcher
    seen: list[SeenSession] = field(default_factory=list)

    async def probe(self) -> ProbedAgent:
        facts = facts_of(self.kind)
        known = facts.examination.known_good if facts.examination is not None else None
        self._make_folders()
        features = [feature async for feature in self._features()]
        version = await self._version()
        features += [judge_events(self.seen), judge_probed_version(version, known)]
        tested = known.tested if known is not None else ""
        kinds = {event.kind for seen in self.seen for event in seen.events}
        return ProbedAgent(
            self.name, version, tested, tuple(features), tuple(sorted(kinds)), advice=advice_on_drift(facts)
        )

    async def _features(self) -> AsyncIterator[Finding]:
        options = facts_of(self.kind).options
        first = await self._session(Step(text=SCRIPT.words, shell=_SHELL), _END)
        for feature in judge_work(first, SCRIPT):
            yield feature
        if not first.requests:
            return  # it never came as far as the model: nothing else can be tried
        if Option.CONTINUE_SESSION in options:
            second = await self._session(_END, continues=first.session_id) if first.session_id else None
            yield judge_resumed(second, SCRIPT)
        else:
            yield skip_feature(RESUMED)
        if Option.MODEL in options:
            model = self.loopback.other_model
            third = await self._session(_END, options=SessionOptions(model=model))
            yield judge_model(third, model.rpartition("/")[2])
        else:
            yield skip_feature(MODEL)
        if Option.READ_ONLY in options:
            written = self._project / _WRITTEN
            fourth = await self._session(Step(write=WriteFile(str(written), "x")), _END, read_only=True)
            yield judge_read_only(fourth, has_written=written.exists())
        else:
            yield skip_feature(READ_ONLY)
        for feature in judge_refusals(
            await self._session(Step(error=401)), await self._session(Step(error=429))
        ):
            yield feature

    async def _session(
        self, *steps: Step, options: SessionOptions = NO_OPTIONS, continues: str = "", read_only: bool = False
    ) -> SeenSession:
        events: list[AgentEvent] = []

        def publish(event: LoopEvent) -> None:
            if isinstance(event, AgentActed):
                events.extend(event.events)

        hurried = [step.hurried() if self.loopback.persists else step for step in steps]
        model = ScriptedModel(hurried)
        with model:
            adapter = adapter_for(
                self.kind, command=self.program, flags=(), as_root=_is_root(), options=options
            )
            session = AgentSession(
                adapter,
                self._runner(),
                tags=(_TAG,),
                show=lambda _: "",
                timeouts=Timeouts(total=SESSION_SECONDS),
            )
            report = await session.run(
                AgentRequest(
                    prompt=_PROMPT,
                    prompt_file=self._prompt_file,
                    log_file=self.folder / f"session_{len(self.seen)}.log",
                    cwd=self._project,
                    environment=self.loopback.prepare(self._home, model.url),
                    continues=continues,
                    read_only=read_only,
                ),
                publish,
            )
            requests = tuple(f"{request.path} {request.text}" for request in model.requests)
        self.seen.append(SeenSession(report, tuple(events), requests))
        return self.seen[-1]

    async def _version(self) -> str:
        """What it said itself, what its files tell, or what it answers."""
        starts = (event for seen in self.seen for event in seen.events if isinstance(event, SessionStarted))
        told = next((event.version for event in starts if event.version), "")
        if told or (told := installed_version(Path(self.program), facts_of(self.kind))):
            return told
        asking = Interviewer(self._runner(), self._project, {}, asyncio.Semaphore(1))
        answer = await asking.ask(self.program, "--version")
        return version_in(answer.output) if answer.code == 0 else ""

    def _runner(self) -> PosixProcessRunner:
        home = self._home
        environment = {
            **{name: value for name, value in self.environment.items() if name in _KEPT},
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local" / "share"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_STATE_HOME": str(home / ".local" / "state"),
            "TMPDIR": str(self.folder / "tmp"),
            **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), _NOBODY),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
        }
        return PosixProcessRunner(
            run_id=f"probe-{os.getpid()}", base_environment=environment, ladder=QUICK, watcher=self.watcher
        )

    @property
    def _home(self) -> Path:
        return self.folder / "home"

    @property
    def _project(self) -> Path:
        return self.folder / "project"

    @property
    def _prompt_file(self) -> Path:
        return self.folder / "prompt.txt"

    def _make_folders(self) -> None:
        self._prompt_file.write_text(_PROMPT, encoding="utf-8")
        for folder in (self._home, self.folder / "tmp", self._project):
            folder.mkdir()
        # Some agents work in repositories only; this is all that makes an empty one.
        for name in ("objects", "refs"):
            (self._project / ".git" / name).mkdir(parents=True)
        (self._project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
