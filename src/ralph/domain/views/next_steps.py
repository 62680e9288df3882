"""What a person can do about a run that is over, for screens that show any run, not only the newest."""

from __future__ import annotations

from ralph.domain.views.closing import COMMANDS
from ralph.domain.views.runs import RESUMABLE, RunState, RunView


def next_steps(run: RunView) -> list[str]:
    """A line each: how to continue it if a command does, then how to read about it. None while it is live."""
    if run.live:
        return []
    resume = _command_to_resume(run)
    return [*([f"to continue: {resume}"] if resume else ()), f"to look: ralph report {run.id} --open"]


def _command_to_resume(run: RunView) -> str:
    if run.state not in RESUMABLE:
        return ""
    if command := COMMANDS.get(run.profile):
        return command
    if run.state is not RunState.EXHAUSTED:
        return f"ralph resume {run.id}"
    # Which option helps is known only if the limit is that of iterations; for others its end says it.
    is_spent = run.maximum is not None and run.iteration >= run.maximum
    return f"ralph resume {run.id} -m {2 * run.iteration}" if is_spent else ""
