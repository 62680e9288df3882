"""What the engine needs from the world. Adapters implement these; fakes need no base class."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, runtime_checkable

from ralph.domain.agent.events import AgentEvent, Usage
from ralph.domain.loop.assignment import Assignment, Offer
from ralph.domain.loop.claims import Signal
from ralph.domain.loop.decision import Decision
from ralph.domain.loop.events import LoopEvent
from ralph.domain.loop.evidence import CheckResult, Evidence
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_change import SessionChange
from ralph.domain.loop.session_report import AgentReport, Ending, Exhausted, Fault, Spend
from ralph.domain.loop.state import LoopState
from ralph.values import dataclass, field

if TYPE_CHECKING:
    from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand

Publish = Callable[[LoopEvent], None]
"""Tells the journal and the screens. Never blocks for long, never raises for a listener's sake."""


# --- processes ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run. ``stdin`` is a file whose copy is standard input (None: nothing, at once EOF).

    With ``converses`` standard input stays open instead, for what is written while it runs (``Partner``).
    """

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = field(default_factory=dict)  # added to the cleaned environment
    stdin: Path | None = None
    merge_stderr: bool = False  # stderr into the same stream as stdout, as a terminal would show it
    exact: bool = False  # its output is data that we read ourselves: nothing is masked
    private_output: bool = False  # no other process can open its stdout by name and speak for it
    converses: bool = False

    @property
    def has_input(self) -> bool:
        return self.converses or self.stdin is not None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; None is no limit. ``idle`` counts from the last output."""

    total: float | None = None
    idle: float | None = None


UNLIMITED = Timeouts()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended. ``code`` is negative for a signal, None if it never started (``error`` says why)."""

    ending: Ending
    code: int | None
    seconds: float
    error: str = ""
    left_behind: tuple[str, ...] = ()  # descendants that were still there and have been ended


class Running(Protocol):
    """A process while it runs, as its output's reader sees it."""

    @property
    def pid(self) -> int: ...

    def finish_within(self, seconds: float | None) -> None:
        """End it if it is still there after ``seconds``, as if it had exited; None: take that back."""
        ...


@runtime_checkable
class Partner(Running, Protocol):
    """A process that may converse: while it runs, one can write to it."""

    def write(self, data: bytes) -> None:
        """To the stdin of a command that converses. Never waits, and is no error if it has gone or does not read."""
        ...

    def close_input(self) -> None:
        """After what was written so far it reads the end of its input."""
        ...

    def before_signals(self, words: Callable[[], bytes]) -> None:
        """Whoever ends it writes these words first, and gives it a moment to end by itself; empty: none."""
        ...


class ProcessRunner(Protocol):
    """Births, watches and buries processes: the one place that does."""

    async def run(
        self,
        command: Command,
        *,
        timeouts: Timeouts = UNLIMITED,
        on_start: Callable[[Running], None] | None = None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        log: Path | None = None,
        stop: Awaitable[object] | None = None,
    ) -> Exit:
        """Run to the end. ``on_lines`` gets whole lines of stdout without their newline, a batch per read,
        ``on_output`` the same bytes as they come, for callers that need no lines; ``log`` gets every byte. ``stop`` done means: end it now. A program that cannot start is an Exit too."""
        ...


class RunOptions(TypedDict, total=False):
    """Those of ``ProcessRunner.run``, for runners around another one."""

    timeouts: Timeouts
    on_start: Callable[[Running], None] | None
    on_lines: Callable[[list[bytes]], None] | None
    on_output: Callable[[bytes], None] | None
    on_stderr: Callable[[bytes], None] | None
    log: Path | None
    stop: Awaitable[object] | None


# --- agents ------------------------------------------------------------------------------------------------


class OutputMode(StrEnum):
    STREAM = "stream"  #: structured events
    TEXT = "text"  #: the final words only


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One session: what to ask, where, and the files that are its own."""

    prompt: str
    prompt_file: Path
    log_file: Path
    cwd: Path
    purpose: str = "iteration"
    role: str = ""
    mode: OutputMode = OutputMode.STREAM
    environment: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()  # the texts the prompt was made of: an agent that repeats one has not said it
    continues: str = ""  # the agent's own id of the session to continue; empty: a fresh one
    used_before: Usage = Usage()  # by that session; some agents count it again
    read_only: bool = (
        False  # it is to look and judge, not to change anything, where the program has a way to say so
    )


class StreamParser(Protocol):
    """Lines of one session → events. Keeps what it needs between lines; never raises on what an agent prints."""

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        """Many at once: a stream may have a hundred thousand."""
        ...

    def finish(self) -> Sequence[AgentEvent]:
        """The output is over: what was held back."""
        ...


@runtime_checkable
class Conversation(StreamParser, Protocol):
    """A parser that answers: for a command that converses."""

    def outgoing(self) -> bytes:
        """What is to be said now: asked at the start, and after each ``parse``."""
        ...

    @property
    def is_over(self) -> bool:
        """Nothing more will be said."""
        ...

    @property
    def patience(self) -> float | None:
        """Seconds from its start by which the program must have answered; None: it has, and has all its time."""
        ...

    def cancellation(self) -> bytes:
        """What to say before the session is ended; empty if nothing would be understood."""
        ...


class AgentAdapter(Protocol):
    """Everything particular to one agent program. It starts nothing, and reads at most what that program wrote down."""

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before leaving it alone (permissions skipped, unproven …)."""
        ...

    @property
    def linger(self) -> float | None:
        """Seconds the program may stay after it ended its turn; None: as long as it likes."""
        ...

    def command(self, request: AgentRequest) -> Command: ...

    def parser(self, request: AgentRequest) -> StreamParser: ...

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        """What went wrong, from exit and structured events (``events``: turns, limits and errors only)."""
        ...


class Agent(Protocol):
    """Runs one session to its end."""

    @property
    def name(self) -> str: ...

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport: ...


# --- judging -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judging:
    """What probes, checks and actions get to look at."""

    iteration: int
    attempt: int
    assignment: Assignment
    report: AgentReport
    publish: Publish
    control: Control


class Probe(Protocol):
    async def look(self, judging: Judging) -> Sequence[Signal]: ...


class When(StrEnum):
    ALWAYS = "always"
    ON_CLAIM = "on_claim"
    WITH_CLAIM = "with_claim"  #: as above, but without a claim it is not missed
    BEFORE_ACCEPT = "before_accept"  #: only when the work would be accepted without it


class Check(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def command(self) -> str:
        """What it runs, for the screens; empty if it runs nothing."""
        ...

    @property
    def when(self) -> When: ...

    async def run(self, judging: Judging) -> CheckResult: ...


class Commands(Protocol):
    """Runs commands that must pass, in one workspace: the only way, for whoever requires one."""

    async def run(
        self,
        required: RequiredCommand,
        *,
        log: Path,
        control: Control,
        publish: Publish,
        rerun: bool = False,
    ) -> CommandVerdict:
        """``log`` gets all of its output. ``rerun``: check a failure by a second run, unless the command says otherwise."""
        ...


class Trigger(StrEnum):
    ON_PROOF = "on_proof"  #: whenever all checks passed, before completion is looked for
    ON_ACCEPT = "on_accept"  #: after an assignment was accepted


@dataclass(frozen=True, slots=True)
class ActionResult:
    """``spend`` is of agent calls the action made. A failure never ends a run: with ``feedback`` it is the agent's
    to fix and denies the proof; without, it is a concern of the user's. ``is_cut``: a stop came in between."""

    ok: bool
    message: str = ""
    spend: Spend = Spend()
    feedback: Feedback | None = None
    is_cut: bool = False


class Action(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def trigger(self) -> Trigger: ...

    async def run(self, judging: Judging) -> ActionResult: ...


class Adviser(Protocol):
    """Has something to add to the next prompt: an interrupted attempt, a word from the user, a warning."""

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]: ...


# --- work, record, surroundings ----------------------------------------------------------------------------


class Work(Protocol):
    async def next(self, state: LoopState) -> Offer: ...

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        """Take the decision in. Idempotent: a crash may repeat it. ``evidence`` is None when a limit decided."""
        ...


@runtime_checkable
class Stateless(Work, Protocol):
    """Work that keeps nothing of what was decided, on disk or elsewhere: all of it is in the run's state. So the record of a
    decision may wait until the next iteration begins, if that is at once."""

    is_stateless: Literal[True]


class PromptStyle(Protocol):
    """How a profile words the prompt of an iteration."""

    def __call__(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """Where one session's prompt and raw output are."""

    prompt: Path
    log: Path


class Journal(Protocol):
    """The record of one run. What it has taken survives the death of this process."""

    def open_session(self, prompt: str, *, iteration: int, attempt: int, purpose: str = "") -> SessionFiles:
        """Save the prompt before it is sent, and name the files of this session."""
        ...

    def check_log(self, iteration: int, slug: str) -> Path: ...

    def name_of(self, log: Path) -> str:
        """What results call it: this run's own file, wherever the project is moved to."""
        ...

    def append(self, event: LoopEvent, *, at: float) -> None:
        """Take an event; it may be written a moment later."""
        ...

    def flush(self) -> None:
        """Write what was taken so far, so that other processes see it."""
        ...

    def commit(self, state: LoopState) -> None:
        """Everything so far, and the current state of the run, is on disk when this returns."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``fingerprint`` changes whenever the work changed: commits, edits, new files. Empty: not known."""

    fingerprint: str = ""
    commit: str = ""
    change: SessionChange | None = None  # since the snapshot before; None: unknown


class Workspace(Protocol):
    async def snapshot(self) -> Snapshot: ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Control(Protocol):
    """The user's hand on the run: stop after this step, stop now, pause."""

    @property
    def stopping(self) -> bool: ...

    @property
    def stopping_now(self) -> bool:
        """The current step is being ended."""
        ...

    async def checkpoint(self) -> bool:
        """Called between iterations; waits while paused. True: stop requested."""
        ...

    def stop_now(self) -> Awaitable[object]:
        """Done when the current step must be ended at once. Shared by everyone who waits for it: nobody cancels it."""
        ...

    async def stop_requested(self) -> None:
        """Returns when any stop was requested; what a pause waits on."""
        ...
