"""What the loop did, as lines to read: iterations, sessions, checks, claims, decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from ralph.domain.loop.events import (
    ActionEnded,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    ProcessesEnded,
    RunEnded,
    RunPaused,
    RunStarted,
    RunUnpaused,
    Steered,
    StopRequested,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.text.figures import compact, duration, money, plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import Tone, describe_decision
from ralph.interfaces.tui.marks import clock_time
from ralph.interfaces.tui.stream_line import LONGEST_LINE, OUTPUT_LINES, Kind, Line


def loop_lines(
    event: LoopEvent, at: float, zone: tzinfo | None, claims: Sequence[str] = ()
) -> Iterator[Line]:
    """``claims`` are those that were found in the current iteration."""
    time = clock_time(at, zone)
    match event:
        case RunStarted():
            yield Line(Kind.LOOP, "rule", f"run {clean_line(event.run_id)} started · {time}")
            for note in event.notes:
                yield Line(Kind.LOOP, "warn", f"! {clean_line(note[:LONGEST_LINE])}", indent=2)
        case IterationStarted():
            yield from _begun(event, time)
        case AgentStarted(purpose="iteration"):
            yield Line(Kind.LOOP, "dim", f"$ {clean_line(event.command[:200])}", indent=2)
        case AgentStarted():
            yield Line(Kind.LOOP, "dim", f"asks the agent for {clean_line(event.purpose[:80])}")
        case AgentEnded():
            yield from _session_over(event)
        case ProcessesEnded():
            names = clean_line(", ".join(event.left_behind)[:LONGEST_LINE])
            yield Line(Kind.LOOP, "warn", f"! ended leftover processes: {names}", indent=2)
        case CheckStarted():
            yield Line(Kind.CHECKS, "dim", f"▷ {clean_line(event.name[:200])} …")
        case CheckEnded():
            yield from _check_lines(event.result)
        case ClaimsSought(found=found) if found:
            yield Line(Kind.CHECKS, "claim", f"⚑ claims {clean_line(', '.join(found)[:LONGEST_LINE])}")
        case ActionEnded():
            sign, style = ("✔", "good") if event.ok else ("✘", "bad")
            said = f": {clean_line(event.message[:LONGEST_LINE])}" if event.message else ""
            yield Line(Kind.CHECKS, style, f"{sign} {clean_line(event.name[:200])}{said}", head=1, indent=2)
        case IterationEnded():
            yield from _judged(event, claims)
        case PauseBegan():
            until = clock_time(event.until, zone)
            yield Line(
                Kind.LOOP, "warn", f"◔ waiting until {until}: {clean_line(event.reason[:LONGEST_LINE])}"
            )
        case Warned():
            yield Line(Kind.LOOP, "warn", f"! {clean_line(event.message[:LONGEST_LINE])}", indent=2)
        case Steered():
            yield Line(Kind.LOOP, "claim", f"➤ you: {clean_line(event.text[:LONGEST_LINE])}", indent=2)
        case RunEnded():
            yield from _ended(event, time)
        case RunPaused():
            yield Line(Kind.LOOP, "warn", f"⏸ paused · {time}")
        case RunUnpaused():
            yield Line(Kind.LOOP, "warn", f"▶ continued · {time}")
        case StopRequested():
            yield Line(Kind.LOOP, "warn", f"■ stopping {'now' if event.now else 'after this step'} · {time}")
        case _:
            pass


def _begun(event: IterationStarted, time: str) -> Iterator[Line]:
    of = f" of {event.maximum}" if event.maximum else ""
    again = f" · attempt {event.attempt}" if event.attempt > 1 else ""
    role = f" · {clean_line(event.role[:40])}" if event.role else ""
    what = clean_line(event.assignment[:80])
    what = f" · {what}" if what and what != "prompt" else ""
    yield Line(Kind.LOOP, "rule", f"iteration {event.iteration}{of}{again}{role}{what} · {time}")


def _session_over(event: AgentEnded) -> Iterator[Line]:
    how = event.ending.replace("_", " ")
    code = f" {event.exit_code}" if event.exit_code is not None else ""
    figures = [
        f"session {clean_line(how)}{code} after {duration(event.seconds)}",
        plural(event.tools, "tool"),
    ]
    if event.tool_errors:
        figures.append(f"{event.tool_errors} failed")
    if event.spend.cost_usd is not None:
        figures.append(money(event.spend.cost_usd))
    if event.spend.usage.total:
        figures.append(f"{compact(event.spend.usage.total)} tokens")
    yield Line(Kind.LOOP, "dim", " · ".join(figures))
    if event.fault is not None:
        yield Line(Kind.LOOP, "bad", f"✘ {clean_line(event.fault.reason[:LONGEST_LINE])}", indent=2)
    if event.denials:
        names = clean_line(", ".join(event.denials)[:LONGEST_LINE])
        yield Line(Kind.LOOP, "warn", f"! denied permission to use: {names}", indent=2)


_CHECK_LOOKS = {
    Verdict.PASSED: ("✔", "good"),
    Verdict.FAILED: ("✘", "bad"),
    Verdict.ERRORED: ("!", "warn"),
    Verdict.SKIPPED: ("-", "dim"),
}


def _check_lines(result: CheckResult) -> Iterator[Line]:
    sign, style = _CHECK_LOOKS[result.verdict]
    name = clean_line(result.name[:200])
    code = f", exit {result.exit_code}" if result.exit_code else ""
    text = f"{sign} {name} {result.verdict.value} ({duration(result.seconds)}{code})"
    yield Line(Kind.CHECKS, style, text, head=len(sign) + 1 + len(name), indent=2)
    if result.verdict is Verdict.PASSED:
        return
    if result.reason:
        yield Line(Kind.CHECKS, style, f"  {clean_line(result.reason[:LONGEST_LINE])}", indent=2)
    for row in result.last_lines[-OUTPUT_LINES:]:
        yield Line(Kind.CHECKS, "dim", f"  │ {clean_line(row[:LONGEST_LINE])}", indent=4)


_TONE_STYLES = {
    Tone.GOOD: "good",
    Tone.OPEN: "claim",
    Tone.QUIET: "dim",
    Tone.WARNING: "warn",
    Tone.BAD: "bad",
}


def _judged(event: IterationEnded, claims: Sequence[str]) -> Iterator[Line]:
    cost = f" · {money(event.spend.cost_usd)}" if event.spend.cost_usd is not None else ""
    wording = describe_decision(event.decision, claims)
    words = clean_line(wording.words[:80])
    text = f"→ {words}: {clean_line(event.reason[:LONGEST_LINE])} · {duration(event.seconds)}{cost}"
    yield Line(Kind.LOOP, _TONE_STYLES[wording.tone], text, head=len(words) + 2, indent=2)
    if event.claimed and not event.proven:
        yield Line(Kind.CHECKS, "warn", "  the claim was denied by the checks")
    yield Line(Kind.LOOP, "text", "")


def _ended(event: RunEnded, time: str) -> Iterator[Line]:
    style = (
        "good" if event.outcome.value == "completed" else "bad" if event.outcome.value == "failed" else "warn"
    )
    yield Line(Kind.LOOP, "rule", f"run {event.outcome.value} · {time}")
    yield Line(Kind.LOOP, style, clean_line(event.reason[:LONGEST_LINE]))
    for concern in event.concerns:
        yield Line(Kind.LOOP, "warn", f"! concern: {clean_line(concern[:LONGEST_LINE])}", indent=2)
    if event.hint:
        yield Line(Kind.LOOP, "dim", clean_line(event.hint[:LONGEST_LINE]))
