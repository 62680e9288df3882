"""An event of a run in words, for a reader who pays for each: what happened, what failed and why, what was decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralph.domain.agent import events as agent
from ralph.domain.loop import events as loop
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import duration, plural
from ralph.domain.views.decisions import describe_decision, describe_verdict
from ralph.domain.views.pull_request import view_of
from ralph.domain.views.runs import FeedEvent, outcome_words
from ralph.operations.watch import restore

CHECK_LINES = 8
"""Shown of what a check that failed printed."""
OUTPUT_CHARS = 400


def event_text(event: FeedEvent, claims: Sequence[str] = ()) -> str:
    """Empty: it says nothing that the others do not. ``claims``: those of its iteration. Not cleaned."""
    restored = restore(event.data)
    if restored is None:
        return f"{event.kind}: unknown to this version of ralph"
    if isinstance(restored, loop.AgentActed):
        return "\n".join(_acted(restored.events))
    return _happened(restored, claims)


def _happened(event: loop.LoopEvent, claims: Sequence[str]) -> str:
    match event:
        case loop.RunStarted():
            return f"run {event.run_id} {'resumed' if event.resumed else 'started'}: {event.agent}"
        case loop.IterationStarted():
            return _iteration(event)
        case loop.AgentEnded() if event.fault is not None:
            return f"session ended: {event.fault.reason}"
        case loop.AgentEnded(purpose="iteration"):
            return (
                f"session {event.ending} after {duration(event.seconds)}, {plural(event.tools, 'tool call')}"
            )
        case loop.CheckEnded():
            return "\n".join(check_lines(event.result))
        case loop.ClaimsSought(found=found) if found:
            return f"claims: {', '.join(found)}"
        case loop.ActionEnded():
            return f"{event.name} {'done' if event.ok else 'failed'}: {event.message}".removesuffix(": ")
        case loop.IterationEnded():
            return f"decision: {describe_decision(event.decision, claims).words}: {event.reason}"
        case loop.PauseBegan():
            return f"waiting: {event.reason}"
        case loop.RunPaused():
            return "paused"
        case loop.RunUnpaused():
            return "continued"
        case loop.StopRequested():
            return f"stopping {'now' if event.now else 'after this step'}"
        case loop.Steered(text=text):
            return f"note for the agent: {text}"
        case loop.Warned(message=message):
            return f"warning: {message}"
        case loop.PullRequestSeen():
            return view_of(event).summary()
        case loop.TaskReported():
            return f"task {event.task} {event.result}: {event.reason}"
        case loop.RunEnded():
            return f"run {outcome_words(event.outcome.value)}: {event.reason}"
        case _:
            return ""


def _iteration(event: loop.IterationStarted) -> str:
    of = f" of {event.maximum}" if event.maximum else ""
    again = f", attempt {event.attempt}" if event.attempt > 1 else ""
    step = f": {event.role} {event.assignment}" if event.role else ""
    return f"iteration {event.iteration}{of}{again}{step}"


def check_lines(check: CheckResult) -> Iterator[str]:
    """Its verdict, and below it what a check that did not pass says."""
    yield f"check {describe_verdict(check.verdict)}: {check_words(check.name) or check.command}"
    if check.verdict is Verdict.PASSED:
        return
    if check.reason:
        yield f"  {check.reason}"
    yield from (f"  {line}" for line in check.last_lines[:CHECK_LINES])


def _acted(events: Sequence[agent.AgentEvent]) -> Iterator[str]:
    """An agent may send each word by itself: pieces of one text are joined."""
    said = ""
    for event in events:
        if isinstance(event, agent.Text):
            said += event.text
            if not event.final:
                continue
        if said.strip():
            yield said
        said = ""
        match event:
            case agent.ToolStarted():
                yield f"tool {event.name} {event.summary}".rstrip()
            case agent.ToolEnded(is_error=True):
                yield f"tool failed: {event.output[:OUTPUT_CHARS]}"
            case agent.ErrorReported():
                yield f"error: {event.message}"
            case _:
                pass
    if said.strip():
        yield said
