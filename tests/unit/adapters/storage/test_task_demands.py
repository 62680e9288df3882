"""What tasks on record ask for is found however they were written there: the record may have come with the repository."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.task_demands import demands_of_tasks
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.tasks.completion import TaskCompletionSpec
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.errors import StoreError

OUTCOME = '"outcome": "it works"'
CRITERIA = '"acceptance_criteria": ["it works"]'
CONFIG = '{"command": "./evil"}'
METHOD = '"verification_method": "external"'
CODER = f'"coder": {{"completion_promise": "OK", {METHOD}, "verification_config": {CONFIG}}}'
RUNS_EVIL = [("runs", "./evil")]

Write = Callable[[str | None], None]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with one task."""
    folder = tmp_path_factory.mktemp("project") / ".ralph"
    with closing(open_state_database(folder)) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        spec = TaskCompletionSpec("it works", ["it works"])
        store.add([Task(id="T-1", title="Do it", completion_spec=spec)], at=1.0)
    return folder


@pytest.fixture(scope="module")
def write(state: Path) -> Write:
    """Any spec, past all that ralph itself would check."""

    def write(spec: str | None) -> None:
        with closing(sqlite3.connect(state / "ralph.db")) as database, database:
            database.execute("UPDATE tasks SET completion_spec = ?, status = 'open'", (spec,))

    return write


def demanded(state: Path) -> list[tuple[str, object]]:
    return [(one.means, one.value) for one in demands_of_tasks(state)]


@pytest.mark.parametrize("spec", [None, f"{{{OUTCOME}, {CRITERIA}}}", f"{{{CRITERIA}, {OUTCOME}}}"])
def test_a_task_that_says_nothing_of_its_roles_asks_for_nothing(
    state: Path, write: Write, spec: str | None
) -> None:
    write(spec)
    assert demanded(state) == []


@pytest.mark.parametrize("order", list(permutations([OUTCOME, CRITERIA, CODER])))
def test_a_role_is_found_wherever_it_stands(state: Path, write: Write, order: tuple[str, ...]) -> None:
    write("{" + ", ".join(order) + "}")
    assert demanded(state) == RUNS_EVIL


ALL = f"{{{OUTCOME}, {CRITERIA}, {CODER}}}"


@pytest.mark.parametrize(
    "spec",
    [
        ALL.replace("verification_config", r"veri\u0066ication_config"),
        ALL.replace("command", r"\u0063ommand"),
        ALL.replace("coder", r"c\u006fder"),
        ALL.replace("outcome", r"\u006futcome"),
        ALL.replace("coder", ""),
        f"\n\t{{{OUTCOME}\n,{CRITERIA}\t,\r\n{CODER}}} ",
        f"{{{OUTCOME}, {CODER}, {OUTCOME}, {CRITERIA}, {CRITERIA}}}",
        f'{{"coder": null, {OUTCOME}, {CRITERIA}, {CODER}}}',
        f'{{{CODER}, {OUTCOME}, {CRITERIA}, "qa": {{"max_iterations": NaN}}}}',
    ],
    ids=range(9),
)
def test_no_spelling_hides_a_command(state: Path, write: Write, spec: str) -> None:
    """What Python will read is what counts."""
    parsed = json.loads(spec)
    assert "./evil" in repr(parsed)
    write(spec)
    assert demanded(state) == RUNS_EVIL


@pytest.mark.parametrize(
    "spec",
    ["", "{", "[]", "5", '"coder"', f"{{{OUTCOME}, {CODER}}}", f"{{{CODER}}}", f"{{{CRITERIA}, {CODER}}}"],
)
def test_a_spec_that_nobody_could_work_with_hides_nothing(state: Path, write: Write, spec: str) -> None:
    """Either its demands are found, or the task cannot be read by whoever would work on it."""
    write(spec)
    with closing(open_state_database(state)) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        with pytest.raises(StoreError, match="task T-1 is damaged in the record"):
            store.get("T-1")


@pytest.mark.parametrize("status", [TaskStatus.DONE, TaskStatus.CANCELLED])
def test_what_is_over_asks_for_nothing(state: Path, write: Write, status: TaskStatus) -> None:
    write(f"{{{OUTCOME}, {CRITERIA}, {CODER}}}")
    with closing(sqlite3.connect(state / "ralph.db")) as database, database:
        database.execute("UPDATE tasks SET status = ?", (status.value,))
    assert demanded(state) == []


def escape(text: str, places: set[int]) -> str:
    return "".join(f"\\u{ord(char):04x}" if at in places else char for at, char in enumerate(text))


@given(st.data())
def test_whatever_the_spelling_it_is_found(state: Path, write: Write, data: st.DataObject) -> None:
    def spelled(name: str) -> str:
        places = data.draw(st.sets(st.integers(0, len(name) - 1)))
        return f'"{escape(name, places)}"'

    config = f"{{{spelled('command')}: {spelled('./evil')}}}"
    coder = f'{{{spelled("verification_method")}: "external", {spelled("verification_config")}: {config}}}'
    parts = [
        f'{spelled("outcome")}: "x"',
        f'{spelled("acceptance_criteria")}: ["x"]',
        f"{spelled('coder')}: {coder}",
    ]
    doubles = [f'{spelled("outcome")}: "y"', f'{spelled("acceptance_criteria")}: ["y"]']
    parts += data.draw(st.lists(st.sampled_from(doubles), max_size=2))
    write("{" + ", ".join(data.draw(st.permutations(parts))) + "}")
    assert demanded(state) == RUNS_EVIL
