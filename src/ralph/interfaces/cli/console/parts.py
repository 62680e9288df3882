"""The console of a run that is part of another: every line begins with its task."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ralph.interfaces.cli.console.outlet import with_prefix
from ralph.interfaces.cli.console.run_view import Console
from ralph.interfaces.cli.console.task_lines import TaskLines
from ralph.interfaces.cli.terminal import display_width
from ralph.values import replace

if TYPE_CHECKING:
    from ralph.domain.views.runs import RunLabel
    from ralph.interfaces.cli.console.live_lines import PartLine
    from ralph.interfaces.cli.terminal import Look


def console_of_part(
    label: RunLabel,
    out: TextIO,
    err: TextIO,
    look: Look,
    *,
    verbose: bool,
    said: set[str],
    status: PartLine | None = None,
) -> Console:
    """``verbose``: everything that its run tells, but for its agent's words. ``said``: notes that were told already."""
    prefix = f"[{label.task}] "
    margin = display_width(prefix)
    out, err, look = with_prefix(out, prefix), with_prefix(err, prefix), replace(look, live=False)
    if verbose:
        return Console(
            out,
            err,
            look,
            verbose=True,
            stream_agent_output=False,
            status=status,
            is_part=True,
            margin=margin,
        )
    return TaskLines(out, err, look, title=label.title, said=said, status=status, margin=margin)
