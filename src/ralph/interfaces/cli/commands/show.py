"""``ralph show``: each iteration of a run, from its prompt to the decision."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.views.runs import LAST
from ralph.errors import StoreError, UsageError
from ralph.interfaces.cli.stored_runs import project_dir_option, reading, state_folder, view_of

if TYPE_CHECKING:
    from ralph.adapters.storage.run_reader import RunReader
    from ralph.domain.views.iteration_view import IterationView
    from ralph.domain.views.runs import RunView

MAX_RECEIPT = 64 * 1024 * 1024

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
    folder = state_folder(project_dir)
    with reading(folder) as reader:
        view = view_of(reader, run)
        if receipt:
            _print_receipt(folder, view)
            return
        iterations = _iterations(reader, view, iteration)
        if as_json:
            _print_json(view, iterations)
        else:
            _print_text(folder / "runs" / view.id, view, iterations)


def _iterations(reader: RunReader, view: RunView, iteration: int | None) -> Iterator[IterationView]:
    from ralph.adapters.storage.restored_events import restore
    from ralph.domain.views.iteration_view import iterations_of

    rows = reader.events(view.id, iteration=iteration)
    events = ((event, row.at) for row in rows if (event := restore(row.data)) is not None)
    found = False
    for seen in iterations_of(events):
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
        "iterations": [_without_kinds(msgspec.to_builtins(iteration)) for iteration in iterations],
    }
    print(msgspec.json.format(msgspec.json.encode(record), indent=2).decode())


def _without_kinds(iteration: dict[str, Any]) -> dict[str, Any]:
    for action in iteration["actions"]:
        del action["kind"]
    return iteration


def _print_receipt(folder: Path, view: RunView) -> None:
    import json

    path = folder / "runs" / view.id / "receipt.json"
    try:
        with path.open("rb") as file:
            data = file.read(MAX_RECEIPT + 1)
        receipt = json.loads(data)
    except FileNotFoundError:
        ended = view.ended_at is not None
        hint = "none was written when it ended" if ended else "it is written when the run ends"
        message = f"run {view.id} has no receipt"
        raise UsageError(message, hint=hint) from None
    except (OSError, ValueError) as error:
        message = f"cannot read {path}: {error}"
        raise StoreError(message, hint="the record itself is shown without --receipt") from error
    print(json.dumps(receipt, indent=2))
