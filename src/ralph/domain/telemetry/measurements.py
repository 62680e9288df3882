"""Folds the events of a run into measurements: the same figures for OTLP receivers and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ralph.domain.loop.decision import is_denied
from ralph.domain.loop.events import (
    ActionEnded,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    RunEnded,
    RunPaused,
    RunStarted,
    RunUnpaused,
    StopRequested,
)
from ralph.values import dataclass


class Metric(NamedTuple):
    """A counter. ``name`` and ``unit`` are OpenTelemetry's, ``exposed`` is the name for Prometheus."""

    name: str
    unit: str
    exposed: str
    help: str


ITERATIONS: Final = Metric(
    "ralph.iterations", "{iteration}", "ralph_iterations_total", "Iterations that ended, by decision."
)
DENIED: Final = Metric(
    "ralph.denied_claims", "{claim}", "ralph_denied_claims_total", "Claims to be done that the checks denied."
)
COST: Final = Metric(
    "ralph.cost", "USD", "ralph_cost_usd_total", "US dollars that sessions cost, as far as it is known."
)
TOKENS: Final = Metric("ralph.tokens", "{token}", "ralph_tokens_total", "Tokens that sessions used, by type.")
SESSIONS: Final = Metric(
    "ralph.sessions",
    "{session}",
    "ralph_sessions_total",
    "Sessions of agents that ended, by purpose, ending and fault.",
)
SESSION_TIME: Final = Metric(
    "ralph.session.time",
    "s",
    "ralph_session_seconds_total",
    "Seconds that sessions of agents took, by purpose.",
)
CHECKS: Final = Metric("ralph.checks", "{check}", "ralph_checks_total", "Checks that ended, by verdict.")
CHECK_TIME: Final = Metric("ralph.check.time", "s", "ralph_check_seconds_total", "Seconds that checks took.")
WAITS: Final = Metric("ralph.waits", "{wait}", "ralph_waits_total", "Waits that ended, by cause.")
WAIT_TIME: Final = Metric(
    "ralph.wait.time", "s", "ralph_wait_seconds_total", "Seconds that runs waited, by cause."
)
RUNS_STARTED: Final = Metric("ralph.runs.started", "{run}", "ralph_runs_started_total", "Runs that began.")
RUNS_ENDED: Final = Metric(
    "ralph.runs.ended",
    "{run}",
    "ralph_runs_ended_total",
    "Runs that ended, by outcome; one that is resumed ends again.",
)

METRICS: Final = (
    ITERATIONS, DENIED, COST, TOKENS, SESSIONS, SESSION_TIME, CHECKS, CHECK_TIME, WAITS, WAIT_TIME, RUNS_STARTED, RUNS_ENDED,
)  # fmt: skip

KINDS: Final = (
    "run_started", "iteration_started", "agent_started", "agent_ended", "check_started", "check_ended", "action_ended",
    "iteration_ended", "pause_began", "run_paused", "run_unpaused", "stop_requested", "run_ended",
)  # fmt: skip
"""The events that measurements are made of."""

_LEAVES_A_WAIT = (
    IterationStarted,
    AgentStarted,
    CheckStarted,
    PauseBegan,
    RunUnpaused,
    StopRequested,
    RunEnded,
    RunStarted,
)


class Measurement(NamedTuple):
    """``labels`` are few, and each has few values: never a run's id."""

    metric: Metric
    value: float
    labels: tuple[tuple[str, str], ...] = ()


MOST = 1e12
"""Of anything at once: seconds, dollars or tokens."""


@dataclass(slots=True)
class Measuring:
    """The measurements of one run."""

    has_failed: bool = False  # a check, or an action, has objected since the iteration began
    waits_for: str = ""
    waits_since: float = 0.0

    def take(self, event: LoopEvent, at: float) -> Iterator[Measurement]:
        """Without what cannot be: one record that somebody has edited must not spoil the sums of all."""
        return (one for one in self._read(event, at) if 0 <= one.value < MOST)

    def _read(self, event: LoopEvent, at: float) -> Iterator[Measurement]:
        if self.waits_for and isinstance(event, _LEAVES_A_WAIT):
            yield from self._end_wait(at)
        match event:
            case RunStarted(resumed=False):
                yield Measurement(RUNS_STARTED, 1)
            case IterationStarted():
                self.has_failed = False
            case AgentEnded():
                yield from _of_session(event)
            case CheckEnded(result):
                self.has_failed |= result.denies
                yield Measurement(CHECKS, 1, (("verdict", str(result.verdict)),))
                yield Measurement(CHECK_TIME, result.seconds)
            case ActionEnded(ok=False):
                self.has_failed = True
            case IterationEnded():
                yield Measurement(ITERATIONS, 1, (("decision", event.decision),))
                if is_denied(claimed=event.claimed, has_failed=self.has_failed, decision=event.decision):
                    yield Measurement(DENIED, 1)
            case PauseBegan():
                self.waits_for, self.waits_since = event.cause or "other", at
            case RunPaused():
                self.waits_for, self.waits_since = "user", at
            case RunEnded():
                yield Measurement(RUNS_ENDED, 1, (("outcome", str(event.outcome)),))
            case _:
                pass

    def _end_wait(self, at: float) -> Iterator[Measurement]:
        cause = (("cause", self.waits_for),)
        self.waits_for = ""
        yield Measurement(WAITS, 1, cause)
        yield Measurement(WAIT_TIME, max(0.0, at - self.waits_since), cause)


def _of_session(event: AgentEnded) -> Iterator[Measurement]:
    purpose = ("purpose", event.purpose)
    fault = event.fault.kind if event.fault is not None else "none"
    yield Measurement(SESSIONS, 1, (purpose, ("ending", str(event.ending)), ("fault", fault)))
    yield Measurement(SESSION_TIME, event.seconds, (purpose,))
    if event.spend.cost_usd:
        yield Measurement(COST, event.spend.cost_usd)
    usage = event.spend.usage
    for kind, tokens in (
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
    ):
        if tokens > 0:
            yield Measurement(TOKENS, tokens, (("type", kind),))
