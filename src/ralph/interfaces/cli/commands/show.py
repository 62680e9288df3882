"""``ralph show``: each iteration of a run, from its prompt to the decision."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.views.runs import LAST
from ralph.errors import UsageError
from ralph.interfaces.cli.project_option import project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.domain.views.iterations import IterationView
    from ralph.domain.views.runs import RunView
    from ralph.operations.runs.read import RunRecord

HELP = """Show each iteration of a run: the prompt, what the agent did, the checks, the decision and why. RUN is a
run's name, its beginning or end, or `last` (the default).

\b
Examples:
  ralph show
  ralph show ab12 --iteration 2
  ralph show --receipt | jq -c '.iterations[] | [.iteration, .decision, .reason]'
"""


@click.command(
    "show", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("run", required=False, default=LAST)
@click.option("--iteration", type=click.IntRange(min=1), metavar="N", help="Only this iteration.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--receipt", is_flag=True, help="Print the run's receipt (receipt.json).")
@project_dir_option
def command(run: str, iteration: int | None, as_json: bool, receipt: bool, project_dir: Path | None) -> None:
    from ralph.operations.runs.read import require_record

    with require_record(state_folder(project_dir)) as record:
        view = record.view(run)
        if receipt:
            _print_receipt(record, view)
            return
        iterations = _iterations(record, view, iteration)
        if as_json:
            _print_json(view, iterations)
        else:
            _print_text(record.state_folder / "runs" / view.id, view, iterations)


def _iterations(record: RunRecord, view: RunView, iteration: int | None) -> Iterator[IterationView]:
    from ralph.domain.views.iterations import fold_iterations

    rows = record.events(view.id, iteration=iteration)
    found = False
    for seen in fold_iterations((row.seq, row.at, row.event) for row in rows):
        found = True
        yield seen
    if iteration is not None and not found:
        message = f"run {view.id} has no iteration {iteration}"
        raise UsageError(message, hint=f"it has {view.iteration}")


def _print_text(run_folder: Path, view: RunView, iterations: Iterator[IterationView]) -> None:
    import os

    from ralph.interfaces.cli.console.terminal import detect_look
    from ralph.interfaces.cli.iteration_text import IterationText, run_lines

    look = detect_look(sys.stdout, os.environ, max_lines=None, max_chars=None)
    print("\n".join(run_lines(view, look)))
    text = IterationText(look, run_folder)
    for iteration in iterations:
        live = view.live and iteration.iteration == view.iteration
        print("\n".join(text.lines(iteration, live=live)))


def _print_json(view: RunView, iterations: Iterator[IterationView]) -> None:
    import msgspec

    record: dict[str, Any] = {
        "run": asdict(view),
        "iterations": [_without_kinds(msgspec.to_builtins(_data(each))) for each in iterations],
    }
    print(msgspec.json.format(msgspec.json.encode(record), indent=2).decode())


_BEFORE_ACTIVITY = (
    *("iteration", "attempt", "started_at", "assignment", "role"),
    *("prompt", "prompt_chars", "prompt_file", "command"),
)
_AFTER_ACTIVITY = (
    *("ending", "exit_code", "fault", "checks", "claims", "actions"),
    *("decision", "reason", "claimed", "proven", "spend", "seconds"),
)


def _data(each: IterationView) -> dict[str, Any]:
    seen = each.activity
    return (
        {name: getattr(each, name) for name in _BEFORE_ACTIVITY}
        | {"tools": seen.tools, "tool_errors": [error._asdict() for error in seen.errors]}
        | {"tool_error_count": seen.error_count, "last_words": seen.last_words}
        | {name: getattr(each, name) for name in _AFTER_ACTIVITY}
    )


def _without_kinds(iteration: dict[str, Any]) -> dict[str, Any]:
    for action in iteration["actions"]:
        del action["kind"]
    return iteration


def _print_receipt(record: RunRecord, view: RunView) -> None:
    import json

    from ralph.operations.runs.read import read_receipt

    print(json.dumps(read_receipt(record.state_folder, view), indent=2))
