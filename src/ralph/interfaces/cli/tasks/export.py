"""``ralph task export``: tasks as somebody would have written them."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.errors import StoreError, UsageError
from ralph.interfaces.cli.tasks.opening import CONTEXT, json_option, opened, project_dir_option

HELP = """Write tasks as YAML, or JSON with --json, in the form that `ralph task add` reads. What they ask for is written,
not how far they are: `ralph task show --json` has that.

\b
Examples:
  ralph task export > tasks.yaml
  ralph task export TASK-001 TASK-002 --json -o tasks.json
"""


@click.command("export", help=HELP, context_settings=CONTEXT)
@click.argument("task_ids", metavar="[ID...]", nargs=-1)
@click.option("--spec", default="", metavar="SPEC", help="Only tasks of this spec.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write it there; never over a file.",
)
@json_option
@project_dir_option
def command(
    task_ids: tuple[str, ...], spec: str, output: Path | None, as_json: bool, project_dir: Path | None
) -> None:
    from ralph.adapters.documents import task_file
    from ralph.adapters.storage.tasks import TaskFilter

    with opened(project_dir) as tasks:
        store = tasks.store
        chosen = [store.get(name) for name in dict.fromkeys(task_ids)]
        found = [
            task for task in chosen or store.list(TaskFilter(spec_id=spec)) if spec in ("", task.spec_id)
        ]
    text = task_file.as_json(found) if as_json else task_file.as_yaml(found)
    if output is None:
        print(text, end="")
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"{output} is there already"
        raise UsageError(message, hint="choose another name, or remove it first") from None
    except OSError as error:
        message = f"cannot write {output}: {error.strerror or error}"
        raise StoreError(message) from None
