"""Asks something of a run and says whether it heard: what stop, pause, unpause and steer have in common."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph.domain.loop.asks import Ask

ANSWER_WITHIN = 3.0
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def ask_run(
    request: Ask,
    *,
    project_dir: Path | None,
    reference: str | None,
    text: str = "",
    done: str,
    wait: bool = True,
) -> int:
    """Record the request; say ``done`` when the run has heard it, or that it has not yet."""
    from ralph.config.root import STATE_FOLDER, find_root
    from ralph.domain.loop.asks import Ask
    from ralph.operations.runs.ask import Answer, ask
    from ralph.operations.runs.choose import live_run, stoppable_run

    root = find_root(Path.cwd(), project_dir)
    choose = stoppable_run if request in (Ask.STOP, Ask.STOP_NOW) else live_run
    run = choose(root, reference)
    seconds = ANSWER_WITHIN if wait else 0.0
    answer = ask(root.state / STATE_FOLDER, run.id, request, text=text, wait_seconds=seconds)
    if answer is Answer.CANCELLED:
        print(f"cancelled: run {run.id}, which was waiting", file=sys.stderr)
    elif answer is Answer.ASKED and wait:
        print(f"ralph: run {run.id} has not answered yet; the request is kept for it", file=sys.stderr)
    else:
        print(f"{done}: run {run.id}", file=sys.stderr)
    return 0
