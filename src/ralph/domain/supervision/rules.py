"""The rules of the supervised loop: its limits, its messages, and how it slows down a crash loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ralph.domain.loop.budget import Backoff, Pace
from ralph.domain.loop.session_report import AgentReport, Ending, Fatal, RateLimited
from ralph.domain.loop.state import LoopState
from ralph.domain.text.exits import exit_words
from ralph.values import dataclass, field, replace

WAIT_EXIT_CODE = 42
"""An agent that exits with this waits for something outside: do not restart it."""

SHOWN_CHILDREN = 10
FAST_SECONDS = 10.0
FAST_FAILURES_ALLOWED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervision:
    """The limits of one supervised run, in seconds; ``agent_timeout`` None: no limit."""

    max_restarts: int = 100
    restart_delay: float = 1.0
    wait_timeout: float = 300.0
    poll_interval: float = 1.0
    agent_timeout: float | None = None
    done_grace: float = 30.0

    def problem(self) -> str | None:
        """What is wrong with a value, if anything."""
        if self.max_restarts < 1:
            return f"the maximum number of restarts must be at least 1, not {self.max_restarts}"
        for name, value in (
            ("restart delay", self.restart_delay),
            ("wait timeout", self.wait_timeout),
            ("grace after DONE", self.done_grace),
        ):
            if not 0 <= value < float("inf"):
                return f"the {name} must be a number of seconds of at least 0, not {value:g}"
        for name, limit in (("poll interval", self.poll_interval), ("agent timeout", self.agent_timeout)):
            if limit is not None and not 0 < limit < float("inf"):
                return f"the {name} must be a number of seconds above 0, not {limit:g}"
        return None


def has_failed(report: AgentReport) -> bool:
    """Whether a launch did not end by itself with exit code 0."""
    return report.ending is not Ending.EXITED or report.exit_code != 0


def is_fast_failure(report: AgentReport) -> bool:
    return has_failed(report) and report.spend.seconds < FAST_SECONDS


@dataclass(frozen=True, slots=True)
class CrashBackoff:
    """Doubles the delay from the sixth fast failure in a row. ``chance``, from 0 to 1, varies it by a quarter."""

    longest: float = 120.0

    def delay(self, restart_delay: float, failures: int, chance: float) -> float:
        extra = failures - FAST_FAILURES_ALLOWED
        if extra <= 0 or restart_delay <= 0:
            return restart_delay
        backoff = Backoff(first=2 * restart_delay, longest=max(self.longest, restart_delay))
        return backoff.delay(extra) * (0.75 + 0.5 * chance)


@dataclass(slots=True)
class Launches:
    """What the pace needs to know. ``failures``: fast ones in a row; a long launch or a clean exit resets them.

    ``limited_until`` is when an agent's usage limit resets (epoch).
    """

    failures: int = 0
    limited_until: float | None = None

    def count(self, report: AgentReport) -> None:
        self.failures = self.failures + 1 if is_fast_failure(report) else 0


def as_launch(report: AgentReport, *, is_done: bool, waits_for_limits: bool) -> AgentReport:
    """Every launch counts, so a fault is no reason to retry, only how it ended.

    A fault that makes any further launch pointless stays, unless the work is done; so does a limit because of which
    nothing was launched.
    """
    limited = isinstance(report.fault, RateLimited) and (not waits_for_limits or report.exit_code is None)
    is_hopeless = isinstance(report.fault, Fatal) or limited
    return report if is_hopeless and not is_done else replace(report, fault=None)


LONGEST_LIMIT = 8 * 86_400.0
"""A reset farther away than any known limit is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPace(Pace):
    """The restart delay: longer in a crash loop or under a usage limit, zero once the work is accepted."""

    launches: Launches = field(default_factory=Launches)
    backoff: CrashBackoff = CrashBackoff()
    chance: Callable[[], float]
    now: Callable[[], float]

    def delay_after(self, state: LoopState) -> float:
        if state.accepted:
            return 0.0
        delay = self.backoff.delay(self.delay, self.launches.failures, self.chance())
        until = self.launches.limited_until
        limit = until - self.now() if until is not None else 0.0
        return max(delay, limit) if limit <= LONGEST_LIMIT else delay


# --- messages ---


def restart_lines(
    report: AgentReport, *, launches: int, maximum: int, agent_timeout: float | None
) -> tuple[str, ...]:
    """What to say between two launches; ``launches`` were made so far."""
    is_last = launches >= maximum
    again = "no restart is left" if is_last else f"restarting (attempt {launches + 1}/{maximum})"
    match report.ending:
        case Ending.TIMED_OUT | Ending.IDLE:
            after = f" after {span(agent_timeout)}" if agent_timeout is not None else ""
            what = f"timeout{after}" if report.ending is Ending.TIMED_OUT else "went silent"
            return (
                f"Agent {what}, killing process group",
                "Process group killed, treating as failure",
                "No restart is left" if is_last else f"Restarting agent (attempt {launches + 1}/{maximum})",
            )
        case _ if report.exit_code == 0:
            return (f"Agent exited with code 0 without DONE, {again}",)
        case _ if report.exit_code is None:
            return (f"Agent failed, {again}",)
        case _:
            how = "with" if report.exit_code > 0 else "by"
            return (f"Agent failed {how} {exit_words(report.exit_code)}, {again}",)


def exhausted_line(launches: int) -> str:
    return f"max restarts exceeded ({launches})"


def completed_line(still_active: Sequence[str], *, launches: int = 1) -> str:
    when = "" if launches else " before this run, which launched no agent"
    if not still_active:
        return f"task completed{when} (DONE marker present, no active children)"
    children = "1 active child" if len(still_active) == 1 else f"{len(still_active)} active children"
    return f"task completed{when} (DONE marker present, {children} left)"


def shown_children(names: Sequence[str]) -> str:
    """Some of them, by name."""
    return ", ".join(names[:SHOWN_CHILDREN]) + (" …" if len(names) > SHOWN_CHILDREN else "")


def span(seconds: float) -> str:
    """5m0s, 1h0m0s, 2.5s."""
    if seconds < 60:
        return f"{seconds:g}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s"
