"""What `ralph doctor --probe` saw of an agent, and which features of its adapter hold by that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ralph.domain.agent.events import AgentEvent, SessionStarted, ToolEnded, Unknown
from ralph.domain.agent.facts import KnownGood
from ralph.domain.loop.session_report import AgentReport, Fatal, Fault, RateLimited
from ralph.domain.views.health import Area, Finding, Health, judge_version
from ralph.values import dataclass

STARTS: Final = "starts"
RESUMED: Final = "a session is resumed"
MODEL: Final = "the model is chosen"
READ_ONLY: Final = "read-only mode works"
UNKNOWN_EVENTS: Final = "unknown events"
_TYPES_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class SeenSession:
    """One real session: its end, its events, and what it asked the model (``requests``: whole requests)."""

    report: AgentReport
    events: Sequence[AgentEvent] = ()
    requests: Sequence[str] = ()

    @property
    def session_id(self) -> str:
        started = [event for event in self.events if isinstance(event, SessionStarted)]
        return started[-1].session_id if started else ""

    @property
    def unknown(self) -> tuple[str, ...]:
        """The types that ralph does not know, each once."""
        types = (event.type or "without a type" for event in self.events if isinstance(event, Unknown))
        return tuple(dict.fromkeys(types))

    def asked(self, text: str) -> bool:
        return any(text in request for request in self.requests)


@dataclass(frozen=True, slots=True)
class ProbedAgent:
    """``features``: none if it could not be probed, and ``obstacle`` says why. ``kinds``: of its events, as ralph reads them."""

    agent: str
    version: str = ""
    tested: str = ""
    features: tuple[Finding, ...] = ()
    kinds: tuple[str, ...] = ()
    obstacle: str = ""
    advice: str = ""

    @property
    def broken(self) -> tuple[Finding, ...]:
        return tuple(feature for feature in self.features if feature.health is Health.BAD)


@dataclass(frozen=True, slots=True)
class Script:
    """What the sessions were about: marks that tell one text from any other."""

    prompt: str
    words: str
    output: str
    claim: str


def judge_work(seen: SeenSession, script: Script) -> Iterator[Finding]:
    """The features of an ordinary session, in the order in which one needs the other."""
    report = seen.report
    yield _holds(STARTS, report.is_orderly and report.fault is None, _why(report))
    yield _holds("the prompt arrives", seen.asked(script.prompt), "no request to the model had it")
    yield _holds("text is read", script.words in report.text, "none of the model's text came through")
    claims = [tag.content.strip() for tag in report.tags]
    yield _holds("a claim is found", script.claim in claims, "no tag was found in the model's words")
    yield _holds("a tool call is seen", report.tools > 0, "the model called a tool, and no event said so")
    outputs = [event.output for event in seen.events if isinstance(event, ToolEnded)]
    result = any(script.output in output for output in outputs)
    yield _holds("its result is seen", result, "no event had what the tool printed")
    yield _holds("usage is reported", report.spend.usage.total > 0, "no tokens were counted")


def judge_resumed(second: SeenSession | None, script: Script) -> Finding:
    name = RESUMED
    if second is None:
        return _holds(name, False, "the session did not say its id")
    holds = second.report.is_orderly and second.asked(script.words)  # said in the first, not in the second
    return _holds(name, holds, _why(second.report) or "the model was not told what came before")


def judge_model(seen: SeenSession, model: str) -> Finding:
    return _holds(MODEL, seen.asked(model), _why(seen.report) or "another model was asked")


def judge_read_only(seen: SeenSession, *, has_written: bool) -> Finding:
    name = READ_ONLY
    if has_written:
        return _holds(name, False, "it wrote a file")
    return _holds(name, seen.report.is_orderly, _why(seen.report))


def judge_refusals(unauthorized: SeenSession, limited: SeenSession) -> Iterator[Finding]:
    """What a model that refuses is taken for: nobody should retry without a login, and a limit is waited for."""
    yield _is_fault("a 401 asks for a login", unauthorized.report.fault, Fatal)
    yield _is_fault("a 429 is waited for", limited.report.fault, RateLimited)


def judge_events(sessions: Sequence[SeenSession]) -> Finding:
    types = tuple(dict.fromkeys(name for seen in sessions for name in seen.unknown))
    if not types:
        return Finding(Area.AGENTS, UNKNOWN_EVENTS, Health.GOOD, "none")
    shown = ", ".join(types[:_TYPES_SHOWN])
    more = f" and {len(types) - _TYPES_SHOWN} more" if len(types) > _TYPES_SHOWN else ""
    details: Mapping[str, object] = {"types": list(types)}
    return Finding(Area.AGENTS, UNKNOWN_EVENTS, Health.DOUBTFUL, f"{shown}{more}", details=details)


def judge_probed_version(version: str, known: KnownGood | None) -> Finding:
    if known is None:
        return Finding(Area.AGENTS, "version", Health.DOUBTFUL, version or "not known")
    health, text = judge_version(version, known)
    return Finding(Area.AGENTS, "version", health, text)


def skip_feature(name: str) -> Finding:
    return _skipped(name, "this agent does not support it")


def _is_fault(name: str, fault: Fault | None, kind: type[Fault]) -> Finding:
    taken_for = "no fault" if fault is None else f"{fault.kind.replace('_', ' ')}: {fault.reason}"
    return _holds(name, isinstance(fault, kind), f"ralph took it for {taken_for}")


def _why(report: AgentReport) -> str:
    if report.fault is not None:
        return report.fault.reason
    return "" if report.is_orderly else f"it ended with exit status {report.exit_code} ({report.ending})"


def _holds(name: str, holds: bool, otherwise: str) -> Finding:
    health = Health.GOOD if holds else Health.BAD
    return Finding(Area.AGENTS, name, health, "" if holds else otherwise, needed=True)


def _skipped(name: str, why: str) -> Finding:
    return Finding(Area.AGENTS, name, Health.ABSENT, why)
