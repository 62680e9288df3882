"""Tasks in a real database: all or nothing, ready by index, and one worker each."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_database, open_state_database
from ralph.adapters.storage.task_history import TaskHistory, verification_statement
from ralph.adapters.storage.tasks import READY, TaskStore
from ralph.domain.holder import Owner
from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.history import StageRecord, TaskEvent, VerificationRecord
from ralph.domain.tasks.task import Task, TaskBudget, TaskStatus, cancel, count_iteration
from ralph.domain.views.tasks import TaskFilter
from ralph.errors import StoreError, UsageError

SPEC = TaskCompletionSpec("works", ["fast"], {"coder": CompletionCriteria("OK", max_iterations=3)})


def task(name: str, *needs: str, priority: int = 5, **more: object) -> Task:
    return replace(
        Task(id=name, title=f"do {name}", completion_spec=SPEC, dependencies=needs, priority=priority),
        **more,  # type: ignore[arg-type]
    )


@contextmanager
def opened(folder: Path) -> Iterator[TaskStore]:
    with closing(open_state_database(folder)) as database:
        yield TaskStore(database, me=this_process(), started_of=started_of)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TaskStore]:
    with opened(tmp_path / ".ralph") as store:
        yield store


@pytest.fixture
def history(store: TaskStore, tmp_path: Path) -> Iterator[TaskHistory]:
    path = tmp_path / ".ralph" / "ralph.db"
    with closing(open_database(path)) as database:
        yield TaskHistory(database, path)


def names(tasks: object) -> list[str]:
    assert isinstance(tasks, list)
    return [one.id for one in tasks]


def put(store: TaskStore, name: str, status: TaskStatus) -> None:
    store.change(name, lambda one: replace(one, status=status), at=2.0)


def test_a_task_comes_back_as_it_was_added(store: TaskStore) -> None:
    given = task(
        "T-1",
        spec_id="shop",
        description="d",
        assignee="me",
        metadata={"a": [1]},
        budget=TaskBudget(cost_usd=2.5),
        branch="ralph/T-1",
    )
    store.add([given], at=1000.5)
    found = store.get("t-1")
    assert replace(found, created_at=given.created_at, updated_at=given.updated_at) == given
    assert found.created_at.timestamp() == found.updated_at.timestamp() == 1000.5


def test_a_task_without_a_spec_is_a_task_too(store: TaskStore) -> None:
    store.add([Task(id="OLD", title="from before")], at=1.0)
    assert store.get("OLD").completion_spec is None


def test_tasks_are_listed_by_priority_and_then_as_they_came(store: TaskStore) -> None:
    store.add([task("A"), task("B", priority=1), task("C"), task("D", priority=9)], at=1.0)
    assert names(store.list()) == ["B", "A", "C", "D"]
    assert names(store.list(limit=2)) == ["B", "A"]
    assert store.ids() == ["A", "B", "C", "D"]


def test_lists_can_be_narrowed(store: TaskStore) -> None:
    store.add(
        [task("A", spec_id="x"), task("B", "A", assignee="me"), task("C", stage="qa", spec_id="x")], at=1.0
    )
    put(store, "C", TaskStatus.FAILED)
    assert names(store.list(TaskFilter(spec_id="x"))) == ["A", "C"]
    assert names(store.list(TaskFilter(statuses=(TaskStatus.FAILED, TaskStatus.DONE)))) == ["C"]
    assert names(store.list(TaskFilter(stage="qa"))) == ["C"]
    assert names(store.list(TaskFilter(assignee="me"))) == ["B"]
    assert names(store.list(TaskFilter(ready=True))) == ["A"]
    assert store.count(TaskFilter(spec_id="x")) == 2


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([task("N-1"), task("OLD-1")], "there is a task OLD-1 already"),
        ([task("N-1"), task("old-1")], "there is a task old-1 already"),
        ([task("N-1"), task("N-1")], "N-1 appears twice"),
        ([task("N-1"), task("N-2", "NOPE")], "there is no task NOPE"),
        ([task("N-1", "N-2"), task("N-2", "N-1")], "these tasks wait for each other: N-1 → N-2 → N-1"),
    ],
)
def test_tasks_are_added_all_or_none(store: TaskStore, tasks: list[Task], said: str) -> None:
    store.add([task("OLD-1")], at=1.0)
    with pytest.raises(UsageError, match=said):
        store.add(tasks, at=2.0)
    assert store.ids() == ["OLD-1"]


def test_a_task_is_ready_when_all_it_needs_is_done(store: TaskStore) -> None:
    store.add([task("C", "A", "B"), task("B"), task("A")], at=1.0)  # in any order
    assert names(store.ready()) == ["B", "A"]
    put(store, "A", TaskStatus.DONE)
    assert names(store.ready()) == ["B"]
    assert names(store.waiting_for("C")) == ["B"]
    assert store.unfinished() == {"B": TaskStatus.OPEN}
    put(store, "B", TaskStatus.ACCEPTED)  # not merged yet
    assert names(store.ready()) == []
    put(store, "B", TaskStatus.DONE)
    assert names(store.ready()) == ["C"]
    put(store, "A", TaskStatus.OPEN)
    assert names(store.ready()) == ["A"]


def test_a_new_task_may_need_one_that_is_done(store: TaskStore) -> None:
    store.add([task("A")], at=1.0)
    put(store, "A", TaskStatus.DONE)
    store.add([task("B", "A")], at=2.0)
    assert names(store.ready()) == ["B"]


ACTIONS = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from([*TaskStatus, "edit", "remove"])), max_size=25
)


@settings(max_examples=25)
@given(st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=8, max_size=8), ACTIONS)
def test_whatever_happens_ready_is_what_a_rescan_would_find(
    tmp_path_factory: pytest.TempPathFactory, needs: list[set[int]], actions: list[tuple[int, str]]
) -> None:
    with opened(tmp_path_factory.mktemp("tasks") / ".ralph") as store:
        graph = [[f"T{other}" for other in sorted(some) if other < index] for index, some in enumerate(needs)]
        store.add([task(f"T{index}", *others) for index, others in enumerate(graph)], at=1.0)
        for index, action in actions:
            name = f"T{index}"
            if store.find(name) is None:
                continue
            if action == "remove":
                store.remove([name], at=3.0)
            elif action == "edit":
                store.change(name, lambda one: replace(one, dependencies=one.dependencies[1:]), at=3.0)
            else:
                put(store, name, TaskStatus(action))
        everything = store.list()
        done = {one.id for one in everything if one.status is TaskStatus.DONE}
        scanned = [
            one.id
            for one in everything
            if one.status is TaskStatus.OPEN and all(need in done for need in one.dependencies)
        ]
        assert names(store.ready()) == scanned


def test_what_is_ready_is_found_without_looking_at_the_rest(store: TaskStore, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / ".ralph" / "ralph.db")) as database:
        plan = " ".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {READY}"))
    assert "tasks_ready" in plan
    assert "TEMP B-TREE" not in plan


def test_an_unknown_task_finds_its_like(store: TaskStore) -> None:
    store.add([task("TASK-001")], at=1.0)
    with pytest.raises(UsageError) as caught:
        store.get("TASK-01")
    assert caught.value.hint == "did you mean TASK-001?"


def test_a_change_that_changes_nothing_leaves_no_trace(store: TaskStore, history: TaskHistory) -> None:
    store.add([task("A")], at=1.0)
    store.change("A", lambda one: one, at=9.0)
    assert store.get("A").updated_at.timestamp() == 1.0
    assert history.events("A") == [TaskEvent("created", "", 1.0)]


def test_what_happened_to_a_task_is_told(store: TaskStore, history: TaskHistory) -> None:
    store.add([task("A")], at=1.0)
    store.change("A", lambda one: count_iteration(one, "coder"), at=2.0)
    store.change("A", cancel, at=3.0)
    store.note("A", TaskEvent("merged", "as 1234", 4.0))
    assert [(event.kind, event.text, event.at) for event in history.events("A")] == [
        ("created", "", 1.0),
        ("stage", "coder", 2.0),
        ("cancelled", "cancelled by the user", 3.0),
        ("merged", "as 1234", 4.0),
    ]


def test_a_changed_dependency_is_checked_again(store: TaskStore) -> None:
    store.add([task("A"), task("B", "A"), task("C", "B")], at=1.0)
    with pytest.raises(UsageError, match="these tasks wait for each other: "):
        store.change("A", lambda one: replace(one, dependencies=("C",)), at=2.0)
    with pytest.raises(UsageError, match="there is no task NOPE"):
        store.change("A", lambda one: replace(one, dependencies=("NOPE",)), at=2.0)
    assert store.get("A").dependencies == ()


def test_a_rule_that_raises_leaves_the_task_as_it_was(store: TaskStore) -> None:
    store.add([task("A")], at=1.0)

    def broken(one: Task) -> Task:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.change("A", broken, at=2.0)
    store.change("A", lambda one: replace(one, priority=1), at=3.0)  # and the database is not locked
    assert store.get("A").priority == 1


def test_who_waited_for_a_removed_task_waits_no_longer(store: TaskStore, history: TaskHistory) -> None:
    store.add([task("A"), task("B", "A"), task("C", "A", "B")], at=1.0)
    history.database.execute(*verification_statement(verification("A")))
    assert store.dependents("A") == ["B", "C"]
    store.remove(["A"], at=2.0)
    assert names(store.ready()) == ["B"]
    assert store.get("C").dependencies == ("B",)
    assert history.verifications("A") == []
    assert history.events("B")[-1].text == "waits no longer for A, which was removed"


def test_a_task_and_who_needs_it_can_be_removed_together(store: TaskStore) -> None:
    store.add([task("A"), task("B", "A")], at=1.0)
    store.remove(["A", "B"], at=2.0)
    assert store.ids() == []


# --- who works on what ---


@contextmanager
def another_process() -> Iterator[Owner]:
    """One that lives as long as the block."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            started = started_of(process.pid)
            assert started is not None
            yield replace(this_process(), pid=process.pid, process_started=started)
        finally:
            process.communicate(b"\n")


def test_a_task_has_one_worker(store: TaskStore, tmp_path: Path) -> None:
    store.add([task("A"), task("B")], at=1.0)
    with another_process() as owner, closing(open_database(tmp_path / ".ralph" / "ralph.db")) as database:
        other = TaskStore(database, me=owner, started_of=started_of)
        assert other.claim("A", run_id="r-2", at=2.0)
        assert not store.claim("A", run_id="r-1", at=3.0)
        assert names(store.ready()) == ["B"]
        assert store.claims()["A"].run_id == "r-2"
        with pytest.raises(UsageError, match="task A is being worked on by run r-2"):
            store.remove(["A"], at=4.0)
        store.release("A")  # not ours
        assert store.claim_of("A") is not None
        other.release("A")
    assert store.claim("A", run_id="r-1", at=5.0)
    assert store.claim("A", run_id="r-1", at=6.0)  # it is ours already


def test_a_worker_that_is_gone_holds_nothing(store: TaskStore, tmp_path: Path) -> None:
    store.add([task("A")], at=1.0)
    gone = replace(this_process(), process_started="long ago")
    with closing(open_database(tmp_path / ".ralph" / "ralph.db")) as database:
        assert TaskStore(database, me=gone, started_of=started_of).claim("A", run_id="r-0", at=2.0)
    assert names(store.ready()) == ["A"]
    found = store.claim_next(run_id="r-1", at=3.0)
    assert found is not None
    assert store.claims()["A"].run_id == "r-1"


def test_what_is_over_or_waits_cannot_be_claimed(store: TaskStore) -> None:
    store.add([task("A"), task("B", "A"), task("C")], at=1.0)
    put(store, "C", TaskStatus.FAILED)
    assert not store.claim("B", run_id="r", at=2.0)
    assert not store.claim("C", run_id="r", at=2.0)


def test_many_workers_share_the_tasks_without_taking_one_twice(tmp_path: Path) -> None:
    folder = tmp_path / ".ralph"
    with opened(folder) as store:
        store.add([task(f"T-{number}") for number in range(40)], at=1.0)
    taken: list[str] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with opened(folder) as mine:
                while (found := mine.claim_next(run_id="r", at=2.0)) is not None:
                    taken.append(found.id)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert sorted(taken) == sorted(f"T-{number}" for number in range(40))


def test_changes_of_two_processes_are_both_kept(store: TaskStore, tmp_path: Path) -> None:
    store.add([task("A")], at=1.0)
    with opened(tmp_path / ".ralph") as other:
        for _ in range(5):
            store.change("A", lambda one: count_iteration(one, "coder"), at=2.0)
            other.change("A", lambda one: count_iteration(one, "coder"), at=2.0)
    assert store.get("A").iterations == {"coder": 10}


# --- history ---


def verification(name: str, *, iteration: int = 1, verified: bool = False) -> VerificationRecord:
    return VerificationRecord(
        task_id=name,
        role="coder",
        iteration=iteration,
        method="external",
        promise_found=True,
        verified=verified,
        reason="exit 1",
        at=5.0,
        seconds=0.5,
        run_id="r-1",
    )


def test_verifications_come_back_the_newest_first(store: TaskStore, history: TaskHistory) -> None:
    store.add([task("A"), task("B")], at=1.0)
    records = [verification("A"), verification("A", iteration=2, verified=True), verification("B")]
    for record in records:
        history.database.execute(*verification_statement(record))
    assert history.verifications("A") == [records[1], records[0]]
    assert history.verifications("A", limit=1) == [records[1]]


def test_what_was_learned_stays_when_its_task_is_removed(store: TaskStore, history: TaskHistory) -> None:
    store.add([task("A")], at=1.0)
    record = StageRecord(
        task_id="A",
        role="coder",
        method="external",
        accepted=True,
        iterations=2,
        at=5.0,
        cost_usd=0.25,
        tokens=10,
    )
    for one in (record, replace(record, role="qa", accepted=False, cost_usd=None)):
        columns = asdict(one)
        places = ", ".join(f":{name}" for name in columns)
        history.database.execute(f"INSERT INTO task_stages ({', '.join(columns)}) VALUES ({places})", columns)
    store.remove(["A"], at=6.0)
    assert history.stages(role="coder") == [record]
    assert len(history.stages(task_id="A")) == 2
    assert [one.role for one in history.stages()] == ["coder", "qa"]


@pytest.mark.parametrize("make", [lambda store: store.list(), lambda store: store.ready()])
def test_a_damaged_database_is_said_in_words(tmp_path: Path, make: Callable[[TaskStore], object]) -> None:
    folder = tmp_path / ".ralph"
    with closing(open_state_database(folder)) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        database.execute("DROP TABLE tasks")
        with pytest.raises(StoreError):
            make(store)


@pytest.mark.parametrize(
    "damage", ["completion_spec = '{'", "completion_spec = '[]'", "status = 'odd'", "progress = '7'"]
)
def test_a_damaged_task_is_named_and_can_be_removed(store: TaskStore, tmp_path: Path, damage: str) -> None:
    store.add([task("A"), task("B")], at=1.0)
    with closing(sqlite3.connect(tmp_path / ".ralph" / "ralph.db", isolation_level=None)) as database:
        database.execute(f"UPDATE tasks SET {damage} WHERE id = 'A'")
    with pytest.raises(StoreError, match="task A is damaged in the record"):
        store.list()
    store.remove(["a"], at=2.0)
    assert names(store.list()) == ["B"]
