"""``--ui`` and ``--detach``: the same command in a process of its own, which needs no terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ralph.interfaces.cli.options import read_from_stdin
from ralph.operations.runs.detach import DetachedRun
from ralph.operations.runs.start import has_parts

if TYPE_CHECKING:
    from pathlib import Path

    from ralph.operations.runs.start import Launch


def run_apart(launch: Launch, flag: str) -> int:
    """Start it without ``flag``. Gives 0 once it has begun, or the exit code of what never did.

    Nobody can be asked there: what ``launch`` needs of its user has been asked here.
    """
    from ralph.config.root import STATE_FOLDER
    from ralph.interfaces.cli.commands.ui import FLAG, require_ui, show_in_ui

    if flag == FLAG:
        require_ui(FLAG)  # before anything is started
    state_folder = launch.root.state / STATE_FOLDER
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    arguments = [*(one for one in given[:end] if one != flag), *given[end:]]
    started = DetachedRun(state_folder, arguments, said_before=read_from_stdin())
    run_id = started.run_id()
    if run_id is None:
        code, said = started.leave()
        sys.stderr.write(said)
        return 1 if code is None else code
    if flag == FLAG:
        return show_in_ui(started, state_folder, run_id, has_parts=has_parts(launch))
    started.leave()
    _say_how_to_return(run_id, started.output)
    return 0


def _say_how_to_return(run_id: str, output: Path) -> None:
    if not sys.stdout.isatty():
        print(run_id)
    lines = (
        f"run {run_id} has begun and needs no terminal",
        "   To watch it: `ralph attach` (Ctrl-C leaves it running) or `ralph ui`",
        "   To stop it:  `ralph stop`",
        f"   Its output:  {os.path.relpath(output)}",
    )
    print("\n".join(lines), file=sys.stderr)
