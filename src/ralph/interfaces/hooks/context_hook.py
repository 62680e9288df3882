"""PostToolUse: tells the agent how full its context is, once per threshold and session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.domain.plan.context_use import (
    DEFAULT_DIVISOR,
    alert,
    estimated_tokens,
    last_usage,
    thresholds_due,
    window_of,
)
from ralph.interfaces.hooks.places import MARKER, nearest_with
from ralph.interfaces.hooks.protocol import add_context
from ralph.interfaces.hooks.session_files import ALERTS, BLOCKS, forget, locked_numbers, session_file
from ralph.interfaces.hooks.transcript import Transcript

if TYPE_CHECKING:
    from ralph.interfaces.hooks.protocol import Answer, HookEvent

WINDOW_VARIABLE = "CLAUDE_CONTEXT_WINDOW"
DIVISOR_VARIABLE = "CLAUDE_CONTEXT_DIVISOR"


def watch_context(event: HookEvent) -> Answer | None:
    forget(BLOCKS, event.session, event.environ)  # a tool was used: refused stops are no longer "in a row"
    transcript = Transcript(event)
    if not transcript.size:
        return None
    usage = last_usage(transcript.newest_lines())
    divisor = _number(event, DIVISOR_VARIABLE) or DEFAULT_DIVISOR
    tokens = usage[0] if usage is not None else estimated_tokens(transcript.size, divisor)
    window = int(_number(event, WINDOW_VARIABLE)) or window_of(usage[1] if usage is not None else "")
    percent = 100 * tokens / window
    alerts = session_file(ALERTS, event.session, event.environ)
    if not alerts or not thresholds_due(percent, ()):
        return None
    with locked_numbers(alerts) as thresholds:
        due = thresholds_due(percent, thresholds)
        thresholds += due
    if not due:
        return None
    text = alert(
        due[-1], tokens=tokens, window=window, is_exact=usage is not None, in_plan=_is_in_plan(event)
    )
    return add_context(event.text("hook_event_name") or "PostToolUse", text)


def _is_in_plan(event: HookEvent) -> bool:
    """Whether it is a session of `ralph plan run`; most have no marker, and import nothing more."""
    if not any(nearest_with(start, MARKER, event.environ) for start in event.starts):
        return False
    from ralph.interfaces.hooks.plan_stop import active_run

    return active_run(event) is not None


def _number(event: HookEvent, variable: str) -> float:
    """0 unless it is set to a sensible number."""
    try:
        number = float(event.environ.get(variable, ""))
    except ValueError:
        return 0
    return number if 1 <= number < 1e12 else 0
