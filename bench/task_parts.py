"""``python -m bench.task_parts ROOT N``: what the parts of handling N tasks cost, in CPU seconds, as JSON."""

from __future__ import annotations

import gc
import io
import json
import sys
import time
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path

from ralph.adapters.documents.task_file import as_json, as_yaml, read_file
from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.dependencies import addition_problems
from ralph.domain.tasks.entry import read_entries
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.views.tasks import TaskFilter

SPEC = TaskCompletionSpec(
    "The sum is shown on every page",
    ["Products can be added", "Products can be removed"],
    {"coder": CompletionCriteria("BUILT", "It is there", "external", {"command": "make test"}, 15)},
)


def tasks(number: int) -> list[Task]:
    """Each depends on two earlier ones, near and far."""
    return [
        Task(
            id=f"T-{index}",
            title=f"Task number {index}",
            completion_spec=SPEC,
            priority=index % 7,
            dependencies=tuple(
                dict.fromkeys(f"T-{one}" for one in (index - 1, index // 2) if 0 <= one < index)
            ),
        )
        for index in range(number)
    ]


def timed(action: Callable[[], object]) -> float:
    """CPU seconds, because the growth of the cost should not depend on what else the machine does."""
    began = time.process_time()
    action()
    return time.process_time() - began


def import_file(path: Path) -> None:
    """Everything that `ralph task add` does before it writes."""
    entries = read_entries(read_file(str(path)).value)
    problems = [*entries.problems, *addition_problems(entries.tasks, [])]
    assert not problems, problems[0]


def drain(store: TaskStore) -> None:
    while (task := store.claim_next(run_id="bench", at=1.0)) is not None:
        store.change(task.id, lambda one: replace(one, status=TaskStatus.DONE), at=2.0)
        store.release(task.id)
    assert store.count(TaskFilter(statuses=(TaskStatus.DONE,))) == store.count()


def listed(root: Path) -> None:
    from ralph.interfaces.cli.tasks.list import command

    with redirect_stdout(io.StringIO()):
        command.main(["--json", "--project-dir", str(root)], standalone_mode=False)


def main() -> None:
    gc.disable()  # as ralph itself does in its short commands
    root, number = Path(sys.argv[1]), int(sys.argv[2])
    made = tasks(number)
    (root / "tasks.yaml").write_text(as_yaml(made))
    (root / "tasks.json").write_text(as_json(made))
    found = {name: timed(partial(import_file, root / f"tasks.{name}")) for name in ("yaml", "json")}
    with closing(open_state_database(root / ".ralph")) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        found["add"] = timed(lambda: store.add(made, at=1.0))
        found["list"] = timed(store.list)
        found["list_command"] = timed(lambda: listed(root))
        found["drain"] = timed(lambda: drain(store))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
