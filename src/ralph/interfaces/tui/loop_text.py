"""What the loop did, as lines to read: iterations, sessions, checks, claims, decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from ralph.domain.loop import events as loop
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.text.figures import compact, duration, money, plural
from ralph.domain.views.decisions import Tone, describe_decision
from ralph.interfaces.tui.lines import OUTPUT_LINES, Kind, Line, bounded
from ralph.interfaces.tui.marks import clock_time

_CHECK_LOOKS = {
    Verdict.PASSED: ("✔", "good"),
    Verdict.FAILED: ("✘", "bad"),
    Verdict.ERRORED: ("!", "warn"),
    Verdict.SKIPPED: ("-", "dim"),
}
_TONE_STYLES = {
    Tone.GOOD: "good",
    Tone.OPEN: "claim",
    Tone.QUIET: "dim",
    Tone.WARNING: "warn",
    Tone.BAD: "bad",
}


def loop_lines(
    event: loop.LoopEvent, at: float, zone: tzinfo | None, claims: Sequence[str] = ()
) -> Iterator[Line]:
    """``claims`` are those found in the current iteration."""
    time = clock_time(at, zone)
    match event:
        case loop.RunStarted():
            yield _line("rule", f"run {bounded(event.run_id)} started · {time}")
            yield from (_warning(note) for note in event.notes)
        case loop.IterationStarted():
            yield _iteration_line(event, time)
        case loop.AgentStarted(purpose="iteration"):
            yield _line("dim", f"$ {bounded(event.command, 200)}", indent=2)
        case loop.AgentStarted():
            yield _line("dim", f"asks the agent for {bounded(event.purpose, 80)}")
        case loop.AgentEnded():
            yield from _session_lines(event)
        case loop.ProcessesEnded():
            yield _warning(f"ended leftover processes: {', '.join(event.left_behind)}")
        case loop.CheckStarted():
            yield Line(Kind.CHECKS, "dim", f"▷ {bounded(event.name, 200)} …")
        case loop.CheckEnded():
            yield from _check_lines(event.result)
        case loop.ClaimsSought(found=found) if found:
            yield Line(Kind.CHECKS, "claim", f"⚑ claims {bounded(', '.join(found))}")
        case loop.ActionEnded():
            sign, style = ("✔", "good") if event.ok else ("✘", "bad")
            message = f": {bounded(event.message)}" if event.message else ""
            yield Line(Kind.CHECKS, style, f"{sign} {bounded(event.name, 200)}{message}", head=1, indent=2)
        case loop.IterationEnded():
            yield from _decision_lines(event, claims)
        case loop.PauseBegan():
            yield _line("warn", f"◔ waiting until {clock_time(event.until, zone)}: {bounded(event.reason)}")
        case loop.Warned():
            yield _warning(event.message)
        case loop.Steered():
            yield _line("claim", f"➤ you: {bounded(event.text)}", indent=2)
        case loop.RunEnded():
            yield from _end_lines(event, time)
        case loop.RunPaused():
            yield _line("warn", f"⏸ paused · {time}")
        case loop.RunUnpaused():
            yield _line("warn", f"▶ continued · {time}")
        case loop.StopRequested():
            yield _line("warn", f"■ stopping {'now' if event.now else 'after this step'} · {time}")
        case _:
            pass


def _line(style: str, text: str, indent: int = 0) -> Line:
    return Line(Kind.LOOP, style, text, indent=indent)


def _warning(text: str) -> Line:
    return _line("warn", f"! {bounded(text)}", indent=2)


def _iteration_line(event: loop.IterationStarted, time: str) -> Line:
    of = f" of {event.maximum}" if event.maximum else ""
    again = f" · attempt {event.attempt}" if event.attempt > 1 else ""
    role = f" · {bounded(event.role, 40)}" if event.role else ""
    what = f" · {bounded(event.assignment, 80)}" if event.assignment not in ("", "prompt") else ""
    return _line("rule", f"iteration {event.iteration}{of}{again}{role}{what} · {time}")


def _session_lines(event: loop.AgentEnded) -> Iterator[Line]:
    how = bounded(event.ending.replace("_", " "))
    code = f" {event.exit_code}" if event.exit_code is not None else ""
    figures = [f"session {how}{code} after {duration(event.seconds)}", plural(event.tools, "tool")]
    if event.tool_errors:
        figures.append(f"{event.tool_errors} failed")
    if event.spend.cost_usd is not None:
        figures.append(money(event.spend.cost_usd))
    if event.spend.usage.total:
        figures.append(f"{compact(event.spend.usage.total)} tokens")
    yield _line("dim", " · ".join(figures))
    if event.fault is not None:
        yield _line("bad", f"✘ {bounded(event.fault.reason)}", indent=2)
    if event.denials:
        yield _warning(f"denied permission to use: {', '.join(event.denials)}")


def _check_lines(result: CheckResult) -> Iterator[Line]:
    sign, style = _CHECK_LOOKS[result.verdict]
    name = bounded(result.name, 200)
    code = f", exit {result.exit_code}" if result.exit_code else ""
    text = f"{sign} {name} {result.verdict.value} ({duration(result.seconds)}{code})"
    yield Line(Kind.CHECKS, style, text, head=len(sign) + 1 + len(name), indent=2)
    if result.verdict is Verdict.PASSED:
        return
    if result.reason:
        yield Line(Kind.CHECKS, style, f"  {bounded(result.reason)}", indent=2)
    for row in result.last_lines[-OUTPUT_LINES:]:
        yield Line(Kind.CHECKS, "dim", f"  │ {bounded(row)}", indent=4)


def _decision_lines(event: loop.IterationEnded, claims: Sequence[str]) -> Iterator[Line]:
    cost = f" · {money(event.spend.cost_usd)}" if event.spend.cost_usd is not None else ""
    wording = describe_decision(event.decision, claims)
    words = bounded(wording.words, 80)
    text = f"→ {words}: {bounded(event.reason)} · {duration(event.seconds)}{cost}"
    yield Line(Kind.LOOP, _TONE_STYLES[wording.tone], text, head=len(words) + 2, indent=2)
    if event.claimed and not event.proven:
        yield Line(Kind.CHECKS, "warn", "  the claim was denied by the checks")
    yield _line("text", "")


def _end_lines(event: loop.RunEnded, time: str) -> Iterator[Line]:
    outcome = event.outcome.value
    yield _line("rule", f"run {outcome} · {time}")
    yield _line({"completed": "good", "failed": "bad"}.get(outcome, "warn"), bounded(event.reason))
    yield from (_warning(f"concern: {concern}") for concern in event.concerns)
    if event.hint:
        yield _line("dim", bounded(event.hint))
