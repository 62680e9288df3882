"""Tasks of a real record as cards, and what a face may ask of them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.board_reader import MOST_CARDS
from ralph.adapters.storage.connection import Connection
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.storage.task_history import verification_statement
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.loop.asks import Ask
from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.history import VerificationRecord
from ralph.domain.tasks.task import Task, TaskAsk, cancel, count_iteration
from ralph.domain.views.board import Board, CardKind
from ralph.errors import UsageError
from ralph.operations.tasks import ask_of_task, editable_task, redefine_task
from ralph.operations.watch import open_feed

SPEC = TaskCompletionSpec(
    "totals are right", ["rounds half even"], {"coder": CompletionCriteria("CODED", max_iterations=7)}
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".ralph"


@pytest.fixture
def database(folder: Path) -> Iterator[Connection]:
    with closing(open_state_database(folder)) as opened:
        yield opened


@pytest.fixture
def store(database: Connection) -> TaskStore:
    return TaskStore(database, me=this_process(), started_of=started_of)


def board(folder: Path) -> Board:
    with open_feed(folder) as feed:
        (found,) = [each for each in feed.boards() if each.kind is CardKind.TASK]
    return found


def test_without_tasks_there_is_no_board_of_them(folder: Path, store: TaskStore) -> None:
    with open_feed(folder) as feed:
        assert feed.boards() == ()


def test_tasks_stand_with_the_role_whose_turn_it_is(folder: Path, store: TaskStore) -> None:
    store.add(
        [
            Task(id="T-1", title="totals", completion_spec=SPEC),
            Task(id="T-2", title="needs totals", dependencies=("T-1",)),
            Task(id="T-3", title="given up"),
        ],
        at=1.0,
    )
    store.change("T-1", lambda task: count_iteration(count_iteration(task, "coder"), "coder"), at=2.0)
    store.change("T-2", lambda task: count_iteration(task, "reviewer"), at=2.0)
    store.change("T-3", cancel, at=3.0)

    lanes = {lane.key: [card.id for card in lane.cards] for lane in board(folder).lanes}
    assert lanes == {
        "coder": ["T-1"],
        "reviewer": ["T-2"],
        "tester": [],
        "qa": [],
        "accepted": [],
        "done": [],
        "failed": [],
        "cancelled": ["T-3"],
    }
    cards = {card.id: card for card in board(folder).cards}
    assert (cards["T-1"].iteration, cards["T-1"].maximum, cards["T-1"].status) == (2, 7, "ready")
    assert (cards["T-2"].status, cards["T-2"].note) == ("waiting", "waits for T-1")
    assert cards["T-3"].note == "cancelled by the user"


def test_a_card_names_the_run_that_works_on_it(folder: Path, store: TaskStore) -> None:
    store.add([Task(id="T-1", title="totals")], at=1.0)
    assert store.claim("T-1", run_id="r9", at=2.0)
    (card,) = board(folder).cards
    assert (card.run_id, card.status) == ("r9", "working")


def test_a_cards_detail_has_criteria_and_history(
    folder: Path, database: Connection, store: TaskStore
) -> None:
    store.add([Task(id="T-1", title="totals", description="the sums", completion_spec=SPEC)], at=1.0)
    record = VerificationRecord(
        task_id="T-1",
        at=5.0,
        role="coder",
        iteration=1,
        method="external",
        promise_found=True,
        verified=False,
        reason="exit code 1",
        seconds=1.0,
        run_id="r1",
    )
    database.execute(*verification_statement(record))
    with open_feed(folder) as feed:
        detail = feed.card(CardKind.TASK, "T-1")
        assert feed.card(CardKind.TASK, "T-9") is None
    assert detail is not None
    assert detail.criteria == ("rounds half even",)
    assert "the sums" in detail.description
    coder = detail.completion[0]
    assert (coder.role, coder.promise, coder.maximum) == ("coder", "CODED", 7)
    assert [each.role for each in detail.completion] == ["coder", "reviewer", "tester", "qa"]
    newest, oldest = detail.history
    assert (newest.verdict, newest.what, newest.reason) == ("failed", "external", "exit code 1")
    assert oldest.what == "created"


def test_a_damaged_row_takes_no_other_from_the_board(
    folder: Path, database: Connection, store: TaskStore
) -> None:
    store.add([Task(id="T-1", title="good"), Task(id="T-2", title="bad")], at=1.0)
    database.execute("UPDATE tasks SET progress = '{ torn' WHERE id = 'T-2'")
    assert [card.id for card in board(folder).cards] == ["T-1"]


def test_of_thousands_those_that_matter_are_shown(folder: Path, store: TaskStore) -> None:
    store.add([Task(id=f"T-{number}", title="one of many") for number in range(MOST_CARDS + 100)], at=1.0)
    found = board(folder)
    assert len(found.cards) == MOST_CARDS
    assert found.problem == "100 more are not shown"


def test_a_task_is_cancelled_and_tried_again(folder: Path, store: TaskStore) -> None:
    store.add([Task(id="T-1", title="totals")], at=time.time())
    with pytest.raises(UsageError, match="is open"):
        ask_of_task(folder, "T-1", TaskAsk.RETRY)
    assert ask_of_task(folder, "T-1", TaskAsk.CANCEL).status == "cancelled"
    with pytest.raises(UsageError, match="is cancelled"):
        ask_of_task(folder, "T-1", TaskAsk.CANCEL)
    assert ask_of_task(folder, "T-1", TaskAsk.RETRY).status == "open"
    with pytest.raises(UsageError, match="no task"):
        ask_of_task(folder, "T-9", TaskAsk.CANCEL)


def test_whoever_works_on_a_task_may_not_cancel_one_through_any_face(
    folder: Path, store: TaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([Task(id="T-1", title="totals")], at=time.time())
    monkeypatch.setenv("RALPH_TASK_ID", "T-1")
    with pytest.raises(UsageError, match="inside the work on task T-1"):
        ask_of_task(folder, "T-1", TaskAsk.CANCEL)
    assert store.get("T-1").status == "open"


def test_a_task_that_a_run_took_while_it_was_edited_is_not_changed(folder: Path, store: TaskStore) -> None:
    store.add([Task(id="T-1", title="totals")], at=time.time())
    before = editable_task(folder, "T-1")
    assert store.claim("T-1", run_id="run-1", at=time.time())
    with pytest.raises(UsageError, match="worked on by run run-1"):
        redefine_task(folder, "T-1", replace(before, title="sums"), is_typed=True)
    assert store.get("T-1").title == "totals"


def test_where_nothing_was_ever_run_there_is_no_task_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task"):
        ask_of_task(tmp_path / ".ralph", "T-1", TaskAsk.CANCEL)
    assert not (tmp_path / ".ralph").exists()


def settle(folder: Path, **verified: object) -> None:
    """Settings that a look notices, however soon it comes."""
    path = folder / "settings.json"
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(json.dumps({"profiles": {"verified": verified}}))
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_the_projects_own_roles_and_limits_are_on_the_board(folder: Path, store: TaskStore) -> None:
    store.add([Task(id="T-1", title="totals")], at=1.0)
    with open_feed(folder) as feed:
        (card,) = feed.boards()[0].cards
        assert (card.lane, card.maximum) == ("coder", 15)

        settle(folder, stages=["writer", "qa"], roles={"writer": {"maxIterations": 3}})
        (found,) = feed.boards()
        assert [(lane.key, lane.title) for lane in found.lanes][:2] == [("writer", "Writer"), ("qa", "QA")]
        assert [(each.lane, each.maximum) for each in found.cards] == [("writer", 3)]
        detail = feed.card(CardKind.TASK, "T-1")
        assert detail is not None
        assert [each.role for each in detail.completion] == ["writer", "qa"]


def test_settings_that_cannot_be_used_are_told_on_the_board(folder: Path, store: TaskStore) -> None:
    store.add([Task(id="T-1", title="totals")], at=1.0)
    for text in ("{ torn", '{"profiles": {"verified": {"roles": {"coder": {"maxIterations": 0}}}}}'):
        (folder / "settings.json").write_text(text)
        found = board(folder)
        assert "ralph config validate" in found.problem
        assert [card.maximum for card in found.cards] == [15]


def test_the_plan_is_read_where_the_settings_say(folder: Path, store: TaskStore) -> None:
    plan = folder.parent / "plans" / "shop"
    plan.mkdir(parents=True)
    (plan / "tasks.json").write_text(json.dumps({"project": "shop", "userStories": [{"id": "US-1"}]}))
    with open_feed(folder) as feed:
        assert feed.boards() == ()
        before = feed.head()
        (folder / "settings.json").write_text('{"profiles": {"reviewed": {"planFolder": "plans/shop"}}}')
        assert feed.head() != before
        assert [each.title for each in feed.boards()] == ["shop"]


def test_who_works_on_a_cancelled_task_is_told_to_end_now(
    folder: Path, database: Connection, store: TaskStore
) -> None:
    with SqliteJournal(folder, database, "r9", owner=this_process(), now=1.0) as journal:
        journal.begin(profile="verified", agent="claude", root=folder.parent, options={})
        store.add([Task(id="T-1", title="totals")], at=1.0)
        assert store.claim("T-1", run_id="r9", at=2.0)
        ask_of_task(folder, "T-1", TaskAsk.CANCEL)
        heard = Controls(database, folder / "ralph.db", "r9").hear(at=3.0)
    assert list(heard) == [Ask.STOP_NOW]


def test_a_task_of_a_later_ralph_takes_no_other_from_the_board(
    folder: Path, database: Connection, store: TaskStore
) -> None:
    store.add([Task(id="T-1", title="a"), Task(id="T-2", title="b", dependencies=("T-1",))], at=1.0)
    database.execute("UPDATE tasks SET status = 'frozen' WHERE id = 'T-1'")
    assert [card.id for card in board(folder).cards] == ["T-2"]


@pytest.mark.timeout(60)
def test_a_plan_that_is_a_pipe_or_elsewhere_keeps_nobody_waiting(folder: Path, store: TaskStore) -> None:
    plan = folder.parent / "ralph"
    plan.mkdir()
    os.mkfifo(plan / "tasks.json")
    with open_feed(folder) as feed:
        (found,) = feed.boards()
        assert (found.cards, "not a plain file" in found.problem) == ((), True)
        (plan / "tasks.json").unlink()
        (folder / "settings.json").write_text('{"profiles": {"reviewed": {"planFolder": "../outside"}}}')
        assert feed.boards() == ()
