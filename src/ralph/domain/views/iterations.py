"""The iterations of a run, folded from its events as they come. The only fold."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ralph.domain.agent.events import AgentEvent, Text, ToolEnded, ToolStarted
from ralph.domain.loop.decision import DecisionKind, is_denied
from ralph.domain.loop.events import (
    ActionEnded,
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PullRequestSeen,
    RunEnded,
    RunStarted,
    Steered,
    Warned,
)  # fmt: skip
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.values import dataclass, field, replace

if TYPE_CHECKING:
    from ralph.domain.views.pull_request import PullRequestView

NOTES_KEPT = 200
ERRORS_KEPT = 20
WORDS_KEPT = 4000
"""Characters of the agent's last words; a session may print megabytes."""


class Note(NamedTuple):
    """Something a person should read: a warning, or a note from the user to the agent."""

    at: float
    iteration: int
    kind: str  # warned, steered
    text: str


class ToolError(NamedTuple):
    """A failed tool call and the beginning of its output."""

    tool: str
    output: str


@dataclass(slots=True)
class Activity:
    """What the agent did in its session, as it is read, in bounded memory."""

    tools: Counter[str] = field(default_factory=Counter)
    errors: list[ToolError] = field(default_factory=list)
    error_count: int = 0
    last_words: str = ""
    _is_own_session: bool = True  # not one that was asked for a commit message
    _block_is_open: bool = False
    _names: dict[str, str] = field(default_factory=dict)

    def begin_session(self, purpose: str) -> None:
        self._is_own_session = purpose == "iteration"

    def take(self, events: Iterable[AgentEvent]) -> None:
        for event in events if self._is_own_session else ():
            self._take(event)

    def _take(self, event: AgentEvent) -> None:
        match event:
            case Text() if not event.parent:
                self._take_words(event)
            case ToolStarted():
                self.tools[event.name] += 1
                self._names[event.id] = event.name
            case ToolEnded():
                name = self._names.pop(event.id, event.name)
                if event.is_error:
                    self.error_count += 1
                    if len(self.errors) < ERRORS_KEPT:
                        self.errors.append(ToolError(name, event.output))
            case _:
                pass

    def _take_words(self, event: Text) -> None:
        if self._block_is_open:
            self.last_words = (self.last_words + event.text)[-WORDS_KEPT:]
        elif event.text.strip():
            self.last_words = event.text[-WORDS_KEPT:]
        self._block_is_open = not event.final


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationView:
    """One attempt of one iteration; ``decision`` is empty until it is judged, or if it was interrupted.

    ``activity`` stays empty if agents' events are not read.
    """

    iteration: int
    attempt: int
    started_at: float
    first_seq: int
    last_seq: int | None = None  # None: the newest one
    assignment: str = ""
    role: str = ""
    prompt: str = ""  # the beginning of it
    prompt_chars: int = 0
    prompt_file: str = ""
    command: str = ""
    activity: Activity = field(default_factory=Activity, compare=False)
    agent_seconds: float = 0.0
    ending: str = ""
    exit_code: int | None = None
    fault: str = ""
    agent: str = ""  # that worked, of several; empty: an earlier version of ralph did not say
    version: str = ""  # of that agent
    tools: int = 0
    tool_errors: int = 0
    checks: tuple[CheckResult, ...] = ()
    claims: tuple[str, ...] = ()
    actions: tuple[ActionEnded, ...] = ()
    decision: str = ""
    reason: str = ""
    claimed: bool = False
    proven: bool = False
    spend: Spend = Spend()
    seconds: float = 0.0
    commit: str = ""  # the one that was checked
    began_with: str = ""  # the commit before it; empty: unknown
    used: int = 0  # iterations of its assignment, this one included
    limit: int | None = None  # of those
    promise: str = ""

    @property
    def is_judged(self) -> bool:
        return self.decision not in ("", DecisionKind.RETRY)

    @property
    def step(self) -> str:
        """Which task or story in which role; empty if there is only the prompt."""
        if not self.role:
            return ""
        is_named = self.role in self.assignment.split("/")
        return self.assignment if is_named else f"{self.role} {self.assignment}".strip()

    @property
    def passed(self) -> int:
        return sum(check.verdict is Verdict.PASSED for check in self.checks)

    @property
    def denied(self) -> bool:
        """It claimed to be done, and the checks proved otherwise."""
        has_failed = any(check.denies for check in self.checks)
        return is_denied(claimed=self.claimed, has_failed=has_failed, decision=self.decision)


@dataclass(slots=True)
class Timeline:
    """Folds the events of a run, in order, in any number of batches. Agents' events may be left out."""

    iterations: list[IterationView] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    at_start: tuple[CheckResult, ...] = ()  # found before the first session
    started: RunStarted | None = None
    ended: RunEnded | None = None
    pull_requests: dict[int, PullRequestView] = field(
        default_factory=dict
    )  # as seen last; the newest look last
    seq: int = 0  # of the newest event taken

    def take(self, seq: int, at: float, event: LoopEvent | None) -> None:
        """``event`` None: one that this version of ralph does not know."""
        self.seq = seq
        match event:
            case RunStarted():
                self.started, self.ended = event, None  # also when it was resumed
            case RunEnded():
                self.ended = event
                self._close(seq)
            case IterationStarted():
                self._close(seq - 1)
                self.iterations.append(_begin(event, seq, at))
            case Warned(message=text) | Steered(text=text):
                number = self.iterations[-1].iteration if self.iterations else 0
                self.notes.append(Note(at, number, event.kind, text))
                del self.notes[:-NOTES_KEPT]
            case PullRequestSeen():
                from ralph.domain.views.pull_request import view_of  # few runs have one

                self.pull_requests.pop(event.number, None)
                self.pull_requests[event.number] = view_of(event)
            case CheckEnded(result=result) if not self.iterations:
                self.at_start = (*self.at_start, result)
            case None:
                pass
            case AgentActed(events) if self._is_open:
                self.iterations[-1].activity.take(events)
            case _ if self._is_open:
                self.iterations[-1] = _add(self.iterations[-1], event)
            case _:
                pass

    @property
    def pull_request(self) -> PullRequestView | None:
        """The one that was looked at last; a `ralph work` has one for each task."""
        return next(reversed(self.pull_requests.values()), None)

    @property
    def _is_open(self) -> bool:
        return bool(self.iterations) and self.iterations[-1].last_seq is None

    def _close(self, seq: int) -> None:
        if self._is_open:
            self.iterations[-1] = replace(self.iterations[-1], last_seq=seq)

    def iteration_at(self, seq: int) -> IterationView | None:
        """The one to which the event with this number belongs."""
        place = bisect_right(self.iterations, seq, key=lambda each: each.first_seq)
        return self.iterations[place - 1] if place else None

    @property
    def figures(self) -> Figures:
        return figures_of(self.iterations)


def _begin(event: IterationStarted, seq: int, at: float) -> IterationView:
    return IterationView(
        iteration=event.iteration,
        attempt=event.attempt,
        started_at=at,
        first_seq=seq,
        assignment=event.assignment,
        role=event.role,
        prompt=event.prompt,
        prompt_chars=event.prompt_chars,
        prompt_file=event.prompt_file,
        began_with=event.commit,
        used=event.used,
        limit=event.limit,
        promise=event.promise,
    )


def _add(summary: IterationView, event: LoopEvent) -> IterationView:
    match event:
        case AgentStarted():
            summary.activity.begin_session(event.purpose)
            return replace(summary, command=event.command) if event.purpose == "iteration" else summary
        case AgentEnded(purpose="iteration"):
            return replace(
                summary,
                ending=event.ending,
                exit_code=event.exit_code,
                fault=event.fault.reason if event.fault is not None else "",
                agent=event.agent,
                version=event.version,
                tools=event.tools,
                tool_errors=event.tool_errors,
                agent_seconds=event.seconds,
            )
        case CheckEnded(result=result):
            return replace(summary, checks=(*summary.checks, result))
        case ClaimsSought(found=found):
            return replace(summary, claims=found)
        case ActionEnded():
            return replace(summary, actions=(*summary.actions, event))
        case IterationEnded():
            return replace(
                summary,
                decision=event.decision,
                reason=event.reason,
                claimed=event.claimed,
                proven=event.proven,
                spend=event.spend,
                seconds=event.seconds,
                commit=event.commit,
            )
        case _:
            return summary


def fold_iterations(events: Iterable[tuple[int, float, LoopEvent | None]]) -> Iterator[IterationView]:
    """Each iteration as soon as it is complete; only one is kept in memory."""
    timeline = Timeline()
    for seq, at, event in events:
        timeline.take(seq, at, event)
        while len(timeline.iterations) > 1:
            yield timeline.iterations.pop(0)
    yield from timeline.iterations


class CheckRate(NamedTuple):
    """How often a check passed, of the times it really ran."""

    name: str
    passed: int
    ran: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A run in numbers, for charts."""

    judged: int
    attempts: int
    denied: int  # claims that proof denied
    cost_usd: float | None
    seconds: float
    check_rates: tuple[CheckRate, ...]


def figures_of(iterations: Sequence[IterationView]) -> Figures:
    spend = sum((each.spend for each in iterations), Spend())
    rates: dict[str, list[int]] = {}
    for each in iterations:
        for check in each.checks:
            if check.verdict is not Verdict.SKIPPED:
                rate = rates.setdefault(check.name, [0, 0])
                rate[0] += check.verdict is Verdict.PASSED
                rate[1] += 1
    return Figures(
        judged=sum(each.is_judged for each in iterations),
        attempts=len(iterations),
        denied=sum(each.denied for each in iterations),
        cost_usd=spend.cost_usd,
        seconds=sum(each.seconds for each in iterations),
        check_rates=tuple(CheckRate(name, *rate) for name, rate in rates.items()),
    )
