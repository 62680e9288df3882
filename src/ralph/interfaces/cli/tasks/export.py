"""``ralph task export``: tasks in the form that ``ralph task add`` reads."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.errors import StoreError, UsageError
from ralph.interfaces.cli.options import PATH, json_option, project_dir_option, state_folder

HELP = """Write tasks as YAML, or JSON with --json, in the form that `ralph task add` reads. Only their definition
is written, not their progress: `ralph task show --json` has that.

\b
Examples:
  ralph task export > tasks.yaml
  ralph task export TASK-001 TASK-002 --json -o tasks.json
"""


@click.command("export", help=HELP)
@click.argument("task_ids", metavar="[ID...]", nargs=-1)
@click.option("--spec", default="", metavar="SPEC", help="Only tasks of this spec.")
@click.option(
    "-o", "--output", metavar="FILE", type=PATH, help="Write to this file, which must not exist yet."
)
@json_option()
@project_dir_option
def command(
    task_ids: tuple[str, ...], spec: str, output: Path | None, as_json: bool, project_dir: Path | None
) -> None:
    from ralph.operations.task_files import tasks_text
    from ralph.operations.tasks import find_tasks

    text = tasks_text(find_tasks(state_folder(project_dir), task_ids, spec_id=spec), as_json=as_json)
    if output is None:
        print(text, end="")
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"{output} already exists"
        raise UsageError(message, hint="choose another name, or remove it first") from None
    except OSError as error:
        message = f"cannot write {output}: {error.strerror or error}"
        raise StoreError(message) from None
