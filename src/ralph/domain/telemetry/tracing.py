"""Folds the events of a run into spans: the run, its iterations, sessions with their tools, checks, actions and waits.

A span is given out when it ends. Numbers count over all processes of a run, so a process that resumes it takes in the
earlier events first, and continues where they end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ralph.domain.loop.decision import DecisionKind, Outcome
from ralph.domain.loop.events import (
    ActionEnded,
    ActionStarted,
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    RunEnded,
    RunPaused,
    RunStarted,
    RunUnpaused,
    Steered,
    StopRequested,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.telemetry import conventions as names
from ralph.domain.telemetry.identity import Place, span_of, traceparent
from ralph.domain.telemetry.session_span import OpenSession, moment, program_of
from ralph.domain.telemetry.span import Attributes, Moment, Span, Value, known, shorten
from ralph.values import dataclass, field

WORKFLOW = "ralph"
INTERRUPTED = "interrupted"
CUT = "its process ended unexpectedly"
MOST_MOMENTS = 100
_FAILED = (Verdict.FAILED, Verdict.ERRORED)
_UNFINISHED = (Outcome.FAILED, Outcome.EXHAUSTED)


@dataclass(frozen=True, slots=True)
class TracedRun:
    """What is known of a run before anything happens. ``project`` is the name of its folder."""

    id: str
    profile: str
    agent: str
    project: str


@dataclass(slots=True)
class _Open:
    """A span that has not ended."""

    name: str
    id: str
    parent_id: str
    start: float
    attributes: dict[str, Value] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)

    def note(self, moment: Moment) -> None:
        if len(self.moments) < MOST_MOMENTS:
            self.moments.append(moment)

    def end(self, at: float, error: str = "", message: str = "") -> Span:
        return Span(
            name=self.name,
            id=self.id,
            parent_id=self.parent_id,
            start=self.start,
            end=max(self.start, at),
            attributes=self.attributes,
            error=error,
            message=shorten(message),
            moments=tuple(self.moments),
        )


class Tracing:
    """``content``: prompts, answers, and what tools were given and gave, are attributes too; ``prompt_of`` reads a prompt."""

    def __init__(
        self,
        run: TracedRun,
        place: Place,
        *,
        content: bool = False,
        prompt_of: Callable[[IterationStarted], str] = lambda event: event.prompt,
    ) -> None:
        self._run = run
        self.place = place
        self._content = content
        self._prompt_of = prompt_of
        self._numbers: Counter[str] = Counter()
        self._reserved: list[int] = []  # sessions that are being launched
        self._free: list[int] = []  # of launches that came to nothing
        self._whole: _Open | None = None
        self._iteration: _Open | None = None
        self._started: IterationStarted | None = None
        self._sessions: list[OpenSession] = []
        self._checks: list[_Open] = []
        self._action: _Open | None = None
        self._wait: _Open | None = None
        self._until = 0.0
        self._last_at = 0.0

    # --- sessions that are about to begin ---

    def reserve(self) -> int:
        """The number of the next session, which is its own from now on."""
        if self._free:
            return self._free.pop(0)
        self._numbers["session"] += 1
        return self._numbers["session"]

    def release(self, number: int) -> None:
        """No session began with it, so the next gets it: numbers count what is on record, and a resumed run counts that."""
        self._free.append(number)

    def begin_reserved(self, number: int) -> None:
        """The session that starts next is this one."""
        self._reserved.append(number)

    def traceparent(self, number: int) -> str:
        """What the agent of that session finds in TRACEPARENT."""
        return traceparent(self.place, span_of(self._run.id, "session", number))

    # --- what happens ---

    def take(self, event: LoopEvent, at: float) -> list[Span]:
        """The spans that end by it."""
        if isinstance(event, AgentActed):
            return list(self._sessions[-1].take(event.events, at)) if self._sessions else []
        self._last_at = at
        match event:
            case RunStarted():
                return self._begin_run(at)
            case IterationStarted():
                return [*self._end_wait(at), *self._begin_iteration(event, at)]
            case AgentStarted():
                return [*self._end_wait(at), *self._begin_session(event, at)]
            case AgentEnded():
                return self._end_session(event, at)
            case CheckStarted():
                return [*self._end_wait(at), *self._begin_check(event, at)]
            case CheckEnded():
                return self._end_check(event.result, at)
            case ActionStarted():
                self._action = self._open("action", f"action {event.name}", at, **{"action.name": event.name})
                return []
            case ActionEnded():
                return self._end_action(event, at)
            case IterationEnded():
                return self._end_iteration(event, at)
            case PauseBegan():
                return self._begin_wait(event.cause or "other", event.reason, event.until, at)
            case RunPaused():
                return self._begin_wait("user", "the user paused the run", at, at)
            case RunUnpaused():
                return self._end_wait(at)
            case RunEnded():
                return self._end_run(event, at)
            case ClaimsSought():
                self._note(moment("claims", at, claims=event.found))
            case Warned():
                self._note(moment("warning", at, message=shorten(event.message)))
            case Steered():
                self._note(moment("steered", at, message=shorten(event.text) if self._content else None))
            case StopRequested():
                self._note(moment("stop requested", at, now=event.now))
                return self._end_wait(at)
            case _:
                pass
        return []

    def take_up(self, earlier: Iterable[tuple[LoopEvent, float]], at: float) -> list[Span]:
        """What earlier processes of the run left open: they were ended in the middle of it. The run itself continues."""
        content = self._content
        self._content = False  # what ended was told with its texts, by whoever saw it end
        for event, when in earlier:
            self.take(event, when)
        self._content = content
        cut = [each for session in self._sessions for each in session.cut(self._last_at, INTERRUPTED, CUT)]
        cut += [check.end(self._last_at, INTERRUPTED, CUT) for check in self._checks]
        if self._action is not None:
            cut.append(self._action.end(self._last_at, INTERRUPTED, CUT))
        if self._iteration is not None:
            cut.append(self._iteration.end(self._last_at, INTERRUPTED, CUT))
        if self._wait is not None:  # that was no work, and may have been handed over in good order
            cut.append(self._wait.end(min(self._until, at)))
        self._sessions, self._checks, self._reserved = [], [], []
        self._iteration = self._started = self._action = self._wait = None
        return cut

    # --- the run ---

    def _begin_run(self, at: float) -> list[Span]:
        if self._whole is not None:
            self._whole.note(moment("resumed", at))
            return []
        # Resumed after an end, it is told again: as a part of what was told first, for that has been sent.
        number = self._numbers["run"] = self._numbers["run"] + 1
        first = span_of(self._run.id, "run", 1)
        self._whole = _Open(
            f"{names.INVOKE_WORKFLOW} {WORKFLOW}",
            span_of(self._run.id, "run", number),
            self.place.parent_id if number == 1 else first,
            at,
            known(
                {
                    names.OPERATION: names.INVOKE_WORKFLOW,
                    names.WORKFLOW_NAME: WORKFLOW,
                    names.AGENT_NAME: self._run.agent,
                    "ralph.run.id": self._run.id,
                    "ralph.profile": self._run.profile,
                    "ralph.project": self._run.project,
                }
            ),
        )
        return []

    def _end_run(self, event: RunEnded, at: float) -> list[Span]:
        if self._whole is None:  # nothing of it was begun
            self._begin_run(at)
        assert self._whole is not None
        whole, self._whole = self._whole, None
        whole.attributes |= known(
            {
                "ralph.outcome": str(event.outcome),
                "ralph.reason": shorten(event.reason),
                "ralph.iterations": event.iterations,
                "ralph.denied_claims": event.denied,
                "ralph.cost_usd": event.spend.cost_usd,
                "ralph.tokens": event.spend.usage.total,
                "ralph.concerns": tuple(map(shorten, event.concerns)),
            }
        )
        error = str(event.outcome) if event.outcome in _UNFINISHED else ""
        left = [*self._end_wait(at), *self._leave_iteration(at)]
        return [*left, whole.end(at, error, event.reason if error else "")]

    # --- iterations ---

    def _begin_iteration(self, event: IterationStarted, at: float) -> list[Span]:
        left = self._leave_iteration(at)
        self._started = event
        self._iteration = self._open(
            "iteration",
            "iteration",
            at,
            iteration=event.iteration,
            attempt=event.attempt,
            assignment=shorten(event.assignment),
            role=event.role,
            prompt_chars=event.prompt_chars,
        )
        return left

    def _end_iteration(self, event: IterationEnded, at: float) -> list[Span]:
        iteration = self._iteration
        if iteration is None:  # judged just before its process was cut off: there is nothing to add it to
            return []
        self._iteration = self._started = None
        found: Attributes = {
            "decision": event.decision,
            "reason": shorten(event.reason),
            "claimed": event.claimed,
            "proven": event.proven,
            "commit": event.commit,
            "cost_usd": event.spend.cost_usd,
        }
        iteration.attributes |= known({f"ralph.{name}": value for name, value in found.items()})
        iteration.note(moment("decision", at, decision=event.decision, reason=shorten(event.reason)))
        is_retried = event.decision == DecisionKind.RETRY
        return [iteration.end(at, "retry" if is_retried else "", event.reason if is_retried else "")]

    def _leave_iteration(self, at: float) -> list[Span]:
        """It was not judged."""
        iteration, self._iteration, self._started = self._iteration, None, None
        return [] if iteration is None else [iteration.end(at)]

    # --- sessions ---

    def _begin_session(self, event: AgentStarted, at: float) -> list[Span]:
        number = self._reserved.pop(0) if self._reserved else self.reserve()
        prompt = ""
        if self._content and event.purpose == "iteration" and self._started is not None:
            prompt = self._prompt_of(self._started)
        self._sessions.append(
            OpenSession(
                id=span_of(self._run.id, "session", number),
                # With several checks at a time nobody can tell which of them asks.
                parent_id=self._checks[0].id if len(self._checks) == 1 else self._above(),
                agent=program_of(event.command) or self._run.agent,
                purpose=event.purpose,
                start=at,
                prompt=prompt,
                has_content=self._content,
            )
        )
        return []

    def _end_session(self, event: AgentEnded, at: float) -> list[Span]:
        session = next((each for each in self._sessions if each.purpose == event.purpose), None)
        if session is None:  # it could not be started
            self._begin_session(AgentStarted("", 0, event.purpose), at - event.seconds)
            session = self._sessions[-1]
        self._sessions.remove(session)
        return list(session.end(event, at))

    # --- checks and actions ---

    def _begin_check(self, event: CheckStarted, at: float) -> list[Span]:
        self._checks.append(self._open("check", f"check {event.name}", at))
        return []

    def _end_check(self, result: CheckResult, at: float) -> list[Span]:
        """With what its receipt says."""
        name = f"check {result.name}"
        check = next((each for each in self._checks if each.name == name), None)
        if check is None:
            check = self._open("check", name, at - result.seconds)
        else:
            self._checks.remove(check)
        receipt: Attributes = {
            "name": result.name,
            "command": shorten(result.command),
            "verdict": str(result.verdict),
            "required": result.required,
            "exit_code": result.exit_code,
            "log_file": result.log_file,
            "output_sha256": result.output_sha256,
            "reason": shorten(result.reason),
            "cost_usd": result.spend.cost_usd,
        }
        check.attributes |= known({f"ralph.check.{key}": value for key, value in receipt.items()})
        error = str(result.verdict) if result.verdict in _FAILED else ""
        return [check.end(at, error, result.reason if error else "")]

    def _end_action(self, event: ActionEnded, at: float) -> list[Span]:
        action, self._action = self._action, None
        if action is None:
            return []
        return [action.end(at, "" if event.ok else "failed", "" if event.ok else event.message)]

    # --- waits ---

    def _begin_wait(self, cause: str, reason: str, until: float, at: float) -> list[Span]:
        ended = self._end_wait(at)
        self._until = until
        named: Attributes = {"wait.cause": cause, "wait.reason": shorten(reason), "wait.until": until}
        self._wait = self._open("wait", f"wait {cause}", at, **named)
        return ended

    def _end_wait(self, at: float) -> list[Span]:
        wait, self._wait = self._wait, None
        return [] if wait is None else [wait.end(at)]

    # --- all of them ---

    def _open(self, kind: str, name: str, at: float, **attributes: Value | None) -> _Open:
        self._numbers[kind] += 1
        named = known({f"ralph.{key}": value for key, value in attributes.items()})
        above = self._above() if kind != "iteration" else self._whole_id
        return _Open(name, span_of(self._run.id, kind, self._numbers[kind]), above, at, named)

    def _above(self) -> str:
        return self._iteration.id if self._iteration is not None else self._whole_id

    @property
    def _whole_id(self) -> str:
        """A handed-over run is not announced again; its first span is the one that it has."""
        return self._whole.id if self._whole is not None else span_of(self._run.id, "run", 1)

    def _note(self, happened: Moment) -> None:
        place = self._iteration or self._whole
        if place is not None:
            place.note(happened)
