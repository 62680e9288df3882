"""``--ui``: start the run in its own process and open the terminal UI. Quitting the UI leaves the run running."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ralph.errors import UsageError
from ralph.interfaces.cli.options import requires_extra

FLAG = "--ui"
LAST_CHARS = 2_000


def run_under_ui(
    state_folder: Path, arguments: Sequence[str] | None = None, *, has_parts: bool = False
) -> int:
    """Start the same command without ``--ui`` and watch it. Gives its exit code if it ends before the UI does.

    ``has_parts``: it is a run of runs; the UI follows whichever is active.
    """
    from ralph.operations.runs.detach import DetachedRun

    # Before anything is started: the UI's package may be missing.
    with requires_extra(FLAG, "ui"):
        open_ui: Callable[[Path, str | None], None] = importlib.import_module(
            "ralph.interfaces.tui.opening"
        ).open_ui
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = f"{FLAG} needs a terminal"
        raise UsageError(message, hint="leave it out; `ralph ui` can watch the run from a terminal later")
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    started = DetachedRun(state_folder, [*(one for one in given[:end] if one != FLAG), *given[end:]])
    run_id = started.run_id()
    if run_id is None:
        code, said = started.leave()
        sys.stderr.write(said)
        return 1 if code is None else code
    open_ui(state_folder, None if has_parts else run_id)
    code, said = started.leave()
    if code is None:
        print(
            f"run {run_id} keeps running; `ralph ui` and `ralph status` show it, `ralph stop` ends it",
            file=sys.stderr,
        )
        return 0
    sys.stderr.write(said[-LAST_CHARS:])
    return code
