"""What a person can do about a run that is over, for screens that show any run, not only the newest."""

from __future__ import annotations

from ralph.domain.views.closing import COMMANDS
from ralph.domain.views.runs import RESUMABLE, RunState, RunView


def next_steps(run: RunView) -> list[str]:
    """A line each: how to continue it if a command does, then how to read about it. None while it is live."""
    if run.live:
        return []
    resume = words_to_resume(run)
    return [
        *([f"to continue: ralph {' '.join(resume)}"] if resume else ()),
        f"to look: ralph report {run.id} --open",
    ]


def words_to_resume(run: RunView) -> tuple[str, ...]:
    """What to say to ralph so that it continues a run that is over; empty if nothing that anyone could say does."""
    if run.live or run.state not in RESUMABLE:
        return ()
    is_cut_off = run.state in (RunState.CANCELLED, RunState.WAITING, RunState.INTERRUPTED)
    if run.profile == "verified" and is_cut_off:
        return ("resume", run.id)  # with the options that it was started with
    if command := COMMANDS.get(run.profile):
        return tuple(command.split()[1:])
    if run.state is not RunState.EXHAUSTED:
        return ("resume", run.id)
    # Which option helps is known only if the limit is that of iterations; for others its end says it.
    is_spent = run.maximum is not None and run.iteration >= run.maximum
    return ("resume", run.id, "-m", str(2 * run.iteration)) if is_spent else ()


def can_resume_apart(run: RunView, *, may_extend: bool = True) -> bool:
    """Whether that needs no terminal: a draft asks its user about every round. ``may_extend``: as for ``resume_run``."""
    words = words_to_resume(run)
    return words[:1] in (("resume",), ("work",)) and (may_extend or "-m" not in words)
