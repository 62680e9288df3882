"""What the engine reports, in the past tense. Everything that a screen shows is one of these first."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.domain.agent.events import AgentEvent
from ralph.domain.agent.quota import Window
from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.evidence import CheckResult
from ralph.domain.loop.session_report import Fault, Spend
from ralph.domain.loop.tree_change import TreeChange
from ralph.domain.proof.policy import ProofPolicy
from ralph.values import dataclass, field


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The first event of a run."""

    run_id: str
    profile: str
    agent: str
    root: str
    maximum: int | None = None
    notes: tuple[str, ...] = ()  # what the user should know before leaving: permissions
    sandbox: tuple[str, ...] = ()  # which one, why, and its guarantees
    commands: tuple[str, ...] = ()  # what will run besides the agent, and why
    proof: ProofPolicy | None = None  # None: there is no command that could prove anything
    resumed: bool = False  # by another process than the one that began it
    versions: Mapping[str, str] = field(default_factory=dict)  # of its agents, as far as their files tell
    kind: str = field(default="run_started", init=False)


@dataclass(frozen=True, slots=True)
class IterationStarted:
    """Recorded before the launch; without an end it is an interrupted attempt."""

    iteration: int
    attempt: int
    maximum: int | None
    assignment: str
    role: str = ""
    prompt: str = ""  # its beginning; the file has all of it
    prompt_chars: int = 0
    prompt_file: str = ""
    commit: str = ""  # at its start; empty: unknown
    used: int = 0  # iterations of the assignment itself, this one included
    limit: int | None = None  # of those
    promise: str = ""  # what the assignment ends with
    kind: str = field(default="iteration_started", init=False)


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """The agent's process started."""

    command: str  # shell-quoted and redacted
    pid: int
    purpose: str = "iteration"
    kind: str = field(default="agent_started", init=False)


@dataclass(frozen=True, slots=True)
class AgentActed:
    """A batch of the agent's events, from one read."""

    events: tuple[AgentEvent, ...]
    kind: str = field(default="agent_acted", init=False)


@dataclass(frozen=True, slots=True)
class AgentEnded:
    """The agent's process ended; what it did, in figures."""

    ending: str
    exit_code: int | None
    seconds: float
    spend: Spend
    tools: int = 0
    tool_errors: int = 0
    fault: Fault | None = None
    noise_lines: int = 0
    unknown_events: int = 0
    purpose: str = "iteration"
    stderr: str = ""
    denials: tuple[str, ...] = ()  # tools it was not permitted to use
    agent: str = ""
    version: str = ""  # of that agent; empty: not known
    kind: str = field(default="agent_ended", init=False)


@dataclass(frozen=True, slots=True)
class ProcessesEnded:
    """Processes that an agent or check left behind and ralph ended, by name."""

    left_behind: tuple[str, ...]
    kind: str = field(default="processes_ended", init=False)


@dataclass(frozen=True, slots=True)
class CheckStarted:
    """A check started."""

    name: str
    command: str = ""
    kind: str = field(default="check_started", init=False)


@dataclass(frozen=True, slots=True)
class CheckEnded:
    """A check ended."""

    result: CheckResult
    kind: str = field(default="check_ended", init=False)


@dataclass(frozen=True, slots=True)
class ClaimsSought:
    """The probes looked for claims. ``found``: each claim and its source."""

    found: tuple[str, ...]
    kind: str = field(default="claims_sought", init=False)


@dataclass(frozen=True, slots=True)
class ActionStarted:
    """An action started."""

    name: str
    kind: str = field(default="action_started", init=False)


@dataclass(frozen=True, slots=True)
class ActionEnded:
    """An action ended."""

    name: str
    ok: bool
    message: str = ""
    seconds: float = 0.0
    kind: str = field(default="action_ended", init=False)


@dataclass(frozen=True, slots=True)
class IterationEnded:
    """Recorded after judging. ``decision`` is a ``DecisionKind``, ``reason`` its sentence."""

    iteration: int
    attempt: int
    decision: str
    reason: str
    claimed: bool
    proven: bool
    spend: Spend
    seconds: float
    commit: str = ""  # the one that was checked; empty: unknown
    kind: str = field(default="iteration_ended", init=False)


@dataclass(frozen=True, slots=True)
class QuotaSeen:
    """How much of its subscription an agent says is left, whenever that has changed."""

    agent: str
    windows: tuple[Window, ...]
    kind: str = field(default="quota_seen", init=False)


@dataclass(frozen=True, slots=True)
class PauseBegan:
    """The loop waits: a delay, a backoff, a limit that resets at ``until``."""

    reason: str
    until: float
    cause: str = ""  # delay, an ``Obstacle``, or children; empty: an earlier version did not say
    kind: str = field(default="pause_began", init=False)


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The user asked it to wait; it does so between two sessions."""

    kind: str = field(default="run_paused", init=False)


@dataclass(frozen=True, slots=True)
class RunUnpaused:
    """The user let it continue."""

    kind: str = field(default="run_unpaused", init=False)


@dataclass(frozen=True, slots=True)
class Steered:
    """A message from the user went into the prompt of the next session."""

    text: str
    kind: str = field(default="steered", init=False)


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The user asked it to end: after this step, or ``now``. ``elsewhere``: not by a signal, but from another terminal or
    screen."""

    now: bool
    elsewhere: bool = False
    kind: str = field(default="stop_requested", init=False)


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know. ``mild``: no cause for alarm, as in every ordinary run of its kind."""

    message: str
    mild: bool = False
    kind: str = field(default="warned", init=False)


@dataclass(frozen=True, slots=True)
class PullRequestSeen:
    """The pull request of a branch, whenever something about it has changed. ``step`` is what ralph does about it: wait,
    fix, rerun, update, merge, ask or done; ``reason`` says why."""

    number: int
    url: str
    title: str
    branch: str
    base: str
    head: str  # the commit that all of this is about
    state: str  # open, merged or closed
    step: str
    reason: str
    checks: tuple[SeenCheck, ...] = ()
    for_people: bool = False  # it waits for a person, not for CI
    is_draft: bool = False
    strangers: int = 0  # remarks by people who may not write to the repository; no agent gets them
    hint: str = ""  # what a person can do
    kind: str = field(default="pull_request_seen", init=False)


@dataclass(frozen=True, slots=True)
class TaskReported:
    """What became of one task of a `ralph work`: when it ends, or at the end of all if nobody worked on it."""

    task: str
    title: str
    outcome: Outcome
    result: str  # in a word: done, failed, unfinished, blocked …
    reason: str
    iterations: int = 0  # in all
    rejections: int = 0
    spend: Spend = Spend()  # of this run
    seconds: float = 0.0
    is_begun: bool = True  # False: this run did not work on it
    kind: str = field(default="task_reported", init=False)


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The last event of a run."""

    outcome: Outcome
    reason: str
    iterations: int
    spend: Spend
    seconds: float
    concerns: tuple[str, ...] = ()
    hint: str = ""
    denied: int = 0  # claims that the checks denied
    more: str = ""  # options with which `ralph resume` gets past the limits that were reached
    tree: TreeChange | None = None  # None: not known
    kind: str = field(default="run_ended", init=False)


LoopEvent = (
    RunStarted | IterationStarted | AgentStarted | AgentActed | AgentEnded | ProcessesEnded | CheckStarted | CheckEnded
    | ClaimsSought | ActionStarted | ActionEnded | IterationEnded | QuotaSeen | PauseBegan | RunPaused | RunUnpaused | Steered
    | StopRequested | Warned | PullRequestSeen | TaskReported | RunEnded
)  # fmt: skip
