"""``ralph status``: the runs here as a table, live ones first."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import age, compact, money, plural
from ralph.domain.views.runs import RunState, RunView, caveat_of, reason_of
from ralph.interfaces.cli.options import json_option, project_dir_option, state_folder
from ralph.interfaces.cli.table import Cell, Column, table_lines

LIMIT = 20

_COLOR_OF: dict[RunState, str] = {
    RunState.RUNNING: "cyan",
    RunState.PAUSED: "yellow",
    RunState.WAITING: "yellow",
    RunState.INTERRUPTED: "red",
    RunState.COMPLETED: "green",
    RunState.EXHAUSTED: "red",
    RunState.CANCELLED: "yellow",
    RunState.FAILED: "red",
}


COLUMNS = (
    Column("run"),
    Column("state"),
    Column("task", rare=True),
    Column("title", 2, rare=True),
    Column("iteration", 1),
    Column("spent", 3),
    Column("last check", 2),
    Column("active", 1),
    Column("profile", 4),
    Column("agent", 5),
    Column("why"),
)

HELP = """Show the runs of this project: live ones first, then the newest.

\b
running      a session or its checks are under way
paused       by `ralph pause`; `ralph unpause` continues it
waiting      for a limit to reset; or it ended and waits for something outside
interrupted  its process died before it ended; `ralph resume` continues it
completed, limit reached, cancelled, failed: how it ended

\b
Examples:
  ralph status --watch
  ralph status --tree
  ralph status --json | jq -r '.runs[] | select(.live) | .id'
"""


@click.command("status", help=HELP)
@json_option("Print the runs as JSON.")
@click.option("-w", "--watch", is_flag=True, help="Look again every second, until Ctrl-C.")
@click.option("-a", "--all", "show_all", is_flag=True, help=f"Show all runs, not only {LIMIT}.")
@click.option("--tree", is_flag=True, help="Show each run below the one whose agent started it.")
@project_dir_option
def command(as_json: bool, watch: bool, show_all: bool, tree: bool, project_dir: Path | None) -> None:
    from ralph.operations.runs.read import open_record

    folder = state_folder(project_dir)

    def read() -> tuple[list[RunView], int]:
        """The runs to show, and how many there are."""
        if (record := open_record(folder)) is None:  # it may come
            return [], 0
        with record:
            return record.runs(limit=None if show_all else LIMIT), record.count()

    render: Callable[[list[RunView], int], str] = _json if as_json else _tree if tree else _table
    if watch:
        from ralph.interfaces.cli.watching import watch as watch_runs

        watch_runs(
            read, lambda seen: _json(*seen, indent=None) if as_json else render(*seen), redraws=not as_json
        )
    else:
        print(render(*read()))


def _table(runs: list[RunView], count: int) -> str:
    if not runs:
        return "no runs here yet"
    now = time.time()
    lines = table_lines(COLUMNS, [row_of(run, now) for run in runs], sys.stdout)
    if count > len(runs):
        lines.append(f"and {count - len(runs)} older; --all shows them")
    lines += _pull_requests(runs)
    return "\n".join(lines)


def row_of(run: RunView, now: float) -> tuple[Cell | str, ...]:
    return (
        run.id,
        Cell(run.state.words, _COLOR_OF[run.state]),
        f"{run.task} {run.role}".rstrip() if run.task else "",
        run.title,
        str(run.iteration) if run.maximum is None else f"{run.iteration}/{run.maximum}",
        _spent(run),
        "" if run.last_check is None else f"{run.last_check.verdict}: {check_words(run.last_check.name)}",
        age(now - run.active_at),
        run.profile,
        run.agent,
        why(run, now),
    )


def _pull_requests(runs: list[RunView]) -> list[str]:
    """A line for each that is open, or whose run is live: in a narrow table there is no room for an address."""
    if not any(run.pull_request for run in runs):
        return []
    from ralph.domain.text.safe_text import clean_line
    from ralph.interfaces.cli.folding import fold
    from ralph.interfaces.cli.terminal import detect_look, marks_of

    look = detect_look(sys.stdout)
    shown: dict[tuple[int, str], str] = {}
    for run in runs:
        if (pull := run.pull_request) is not None and (run.live or pull.state == "open"):
            line = clean_line(f"{run.id.split(' ')[-1]}  pull request {pull.line(marks_of(look).dot)}")
            shown.setdefault((pull.number, pull.url), fold(line, look.width) if look.folds else line)
    return [row for line in shown.values() for row in line.split("\n")]


def _spent(run: RunView) -> str:
    parts = [money(run.cost_usd, at_least=run.cost_is_partial)] if run.cost_usd is not None else []
    if run.tokens:
        parts.append(f"{compact(run.tokens)} tokens")
    return ", ".join(parts)


def why(run: RunView, now: float) -> str:
    """Why it ended, or what it waits for."""
    reason = reason_of(run)
    if run.live and run.waits_until is not None and run.state is RunState.WAITING:
        reason = f"{age(run.waits_until - now, ago=False)} left: {reason}"
    if run.state is RunState.COMPLETED and run.concerns:
        reason += f" (with {plural(len(run.concerns), 'warning')})"
    if caveat := caveat_of(run):
        reason += f" ({caveat})"
    return reason


def _tree(runs: list[RunView], count: int) -> str:
    from ralph.domain.views.runs import branch, run_tree
    from ralph.values import replace

    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    return _table(
        [replace(row.run, id=branch(row.last, ascii_only=ascii_only) + row.run.id) for row in run_tree(runs)],
        count,
    )


def _json(runs: list[RunView], count: int, *, indent: int | None = 2) -> str:
    import json

    return json.dumps({"runs": [asdict(run) for run in runs], "count": count}, indent=indent)
