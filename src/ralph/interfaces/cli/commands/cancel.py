"""``ralph cancel``: end the work on tasks (seed 002's ralph-cancel)."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import click

HELP = """Cancel tasks. One that is being worked on is ended at once, also if another terminal does the work; what it has
done so far stays in its branch. `ralph task retry` opens it again."""


@click.command(
    "cancel", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--project-dir", metavar="DIR", type=click.Path(path_type=Path), help="Project to look in.")
def command(tasks: tuple[str, ...], as_json: bool, project_dir: Path | None) -> int:
    from ralph.adapters.processes.identity import started_of, this_process
    from ralph.adapters.storage.controls import Ask, Controls
    from ralph.adapters.storage.database import open_state_database
    from ralph.adapters.storage.tasks import TaskStore
    from ralph.config.root import STATE_FOLDER, find_root
    from ralph.domain.tasks.task import can_be_cancelled, cancelled
    from ralph.domain.text.safe_text import clean_line
    from ralph.errors import UsageError
    from ralph.interfaces.cli.tasks.opening import print_json, refuse_inside_a_task

    refuse_inside_a_task()
    folder = find_root(Path.cwd(), project_dir).state / STATE_FOLDER
    path = folder / "ralph.db"
    if not path.exists():
        message = "there are no tasks here yet"
        raise UsageError(message, hint="add some with `ralph task create` or `task add`")
    with closing(open_state_database(folder)) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        found = [store.get(name) for name in dict.fromkeys(tasks)]
        for task in found:
            if not can_be_cancelled(task):
                message = f"task {clean_line(task.id)} is {task.status}: there is nothing to cancel"
                raise UsageError(message, hint="`ralph task list` shows the tasks")
        ended = []
        for task in found:
            claim = store.claim_of(task.id)
            now = time.time()
            ended.append(store.change(task.id, cancelled, at=now))
            if claim is not None and claim.run_id:
                Controls(database, path, claim.run_id).ask(Ask.STOP_NOW, at=now)
    if as_json:
        print_json({"tasks": [task.to_dict() for task in ended]})
        return 0
    for task in ended:
        print(f"cancelled: {clean_line(task.id)}")
    return 0
