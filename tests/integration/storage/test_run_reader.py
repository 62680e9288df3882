"""Reading a real record, beside one that is being written, and one that is broken."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.storage.run_reader import RECENT, RunReader, open_reader
from ralph.domain.agent.events import Text, Usage
from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.holder import Owner
from ralph.domain.loop.asks import Ask
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    CheckEnded,
    IterationEnded,
    IterationStarted,
    PauseBegan,
    PullRequestSeen,
    RunEnded,
    RunStarted,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.policy import ProofPolicy
from ralph.domain.views.runs import LastCheck, RunState, RunView
from ralph.errors import StoreError

HERE = Owner(99, "reader", "boot", "here")
ALIVE = Owner(7, "alive", "boot", "here")
DEAD = Owner(8, "dead", "boot", "here")
SPEND = Spend(0.5, Usage(100, 20, 3, 0), 1.0)
PULL = PullRequestSeen(
    12, "https://h/pull/12", "Sort", "sort", "main", "9f3e", "open", "wait", "waits for build",
    checks=(SeenCheck("build", "pending"),),
)  # fmt: skip


def started_of(pid: int) -> str | None:
    return "alive" if pid == ALIVE.pid else None


class Record:
    """Runs as their owners write them, at times of the test's choosing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = open_state_database(folder)

    def run(self, name: str, *, owner: Owner = ALIVE, at: float = 0.0) -> Journal:
        journal = SqliteJournal(self.folder, self.database, name, owner=owner, now=at)
        journal.begin(
            profile="basic", agent="claude", root=self.folder.parent, options={"maximumIterations": 10}
        )
        journal.append(RunStarted(name, "basic", "claude", str(self.folder)), at=at)
        journal.flush()
        return Journal(journal, at)


class Journal:
    def __init__(self, journal: SqliteJournal, at: float) -> None:
        self.journal = journal
        self.at = at

    def start(self, iteration: int) -> None:
        self._append(IterationStarted(iteration, 1, 10, "prompt"))
        self.journal.commit(LoopState(iteration=iteration - 1, attempt=1))

    def act(self, times: int = 1) -> None:
        for _ in range(times):
            self._append(AgentActed((Text("working"),)))
        self.journal.flush()

    def check(self, verdict: Verdict, name: str = "tests") -> None:
        self._append(CheckEnded(CheckResult(name, verdict)))
        self.journal.flush()

    def judge(self, iteration: int, **state: object) -> None:
        self._append(IterationEnded(iteration, 1, "continue", "not yet", False, False, SPEND, 1.0))
        self.journal.commit(LoopState(iteration=iteration, spend=SPEND, **state))  # type: ignore[arg-type]

    def wait(self, until: float) -> None:
        self._append(PauseBegan("usage limit", until))
        self.journal.flush()

    def see(self, event: PullRequestSeen | PauseBegan) -> None:
        self._append(event)
        self.journal.flush()

    def end(self, outcome: Outcome = Outcome.COMPLETED, reason: str = "done") -> None:
        self._append(RunEnded(outcome, reason, 1, SPEND, 1.0))
        self.journal.commit(LoopState(iteration=1, spend=SPEND))

    def _append(self, event: object) -> None:
        self.at += 1
        self.journal.append(event, at=self.at)  # type: ignore[arg-type]


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    record = Record(tmp_path / ".ralph")
    yield record
    record.database.close()


@pytest.fixture
def reader(record: Record) -> Iterator[RunReader]:
    reader = open_reader(record.folder)
    assert reader is not None
    with reader:
        yield reader


def runs(reader: RunReader, limit: int | None = None) -> list[RunView]:
    return reader.runs(here=HERE, started_of=started_of, limit=limit)


def only(reader: RunReader) -> RunView:
    (view,) = runs(reader)
    return view


# --- a run as it goes ---


def test_a_run_is_seen_from_its_start_to_its_end(record: Record, reader: RunReader) -> None:
    run = record.run("run", at=100.0)
    assert (only(reader).state, only(reader).iteration, only(reader).maximum) == (RunState.RUNNING, 0, 10)

    run.start(1)
    run.act()
    assert (only(reader).iteration, only(reader).active_at) == (1, 102.0)
    assert only(reader).last_check is None

    run.check(Verdict.FAILED)
    assert only(reader).last_check == LastCheck("tests", "failed")

    run.judge(1)
    view = only(reader)
    assert (view.iteration, view.cost_usd, view.tokens) == (1, 0.5, 123)

    run.start(2)
    assert only(reader).iteration == 2
    run.check(Verdict.PASSED)
    run.judge(2)
    run.end()
    view = only(reader)
    assert (view.state, view.live, view.reason) == (RunState.COMPLETED, False, "done")
    assert view.last_check == LastCheck("tests", "passed")
    assert view.ended_at == view.active_at == run.at


def test_a_run_whose_process_is_gone_is_interrupted(record: Record, reader: RunReader) -> None:
    record.run("run", owner=DEAD).start(1)
    assert (only(reader).state, only(reader).live) == (RunState.INTERRUPTED, False)


def test_a_run_on_another_machine_is_believed_to_be_there(record: Record, reader: RunReader) -> None:
    record.run("run", owner=Owner(8, "dead", "boot", "elsewhere"))
    assert only(reader).live


def test_a_run_of_a_time_before_owners_is_not_alive(record: Record, reader: RunReader) -> None:
    record.run("run")
    record.database.execute("UPDATE runs SET pid = 0, process_started = '', boot_id = '', host = ''")
    assert only(reader).state is RunState.INTERRUPTED


def test_a_run_waits_until_its_next_session_begins(record: Record, reader: RunReader) -> None:
    run = record.run("run")
    run.start(1)
    run.judge(1)
    run.wait(until=5000.0)
    view = only(reader)
    assert (view.state, view.waits_until, view.reason) == (RunState.WAITING, 5000.0, "usage limit")
    run.start(1)
    assert (only(reader).state, only(reader).waits_until) == (RunState.RUNNING, None)


def test_a_run_that_waits_for_its_pull_request_says_for_what(record: Record, reader: RunReader) -> None:
    run = record.run("r")
    run.start(1)
    run.judge(1)
    assert only(reader).pull_request is None

    run.see(PULL)
    view = only(reader)
    assert (view.state, view.reason, view.waits_until) == (RunState.WAITING, "waits for build", None)
    assert view.pull_request is not None
    assert (view.pull_request.number, view.pull_request.checks) == (12, PULL.checks)

    run.see(PauseBegan("the forge is away", 99.0))
    assert (only(reader).reason, only(reader).waits_until) == ("the forge is away", 99.0)

    run.see(replace(PULL, step="fix", reason="failed: build"))
    assert only(reader).state is RunState.RUNNING
    run.start(2)
    view = only(reader)
    assert view.state is RunState.RUNNING
    assert view.pull_request is not None
    assert view.pull_request.step == "fix", "it stays on the screen while a session works on it"


@pytest.mark.parametrize("newest", [0, RECENT - 1, RECENT, 10 * RECENT])
def test_a_long_session_does_not_hide_the_pull_request(record: Record, newest: int) -> None:
    run = record.run("r")
    run.see(PULL)
    run.see(replace(PULL, step="fix"))
    run.start(1)
    run.act(newest)
    opened = open_reader(record.folder)
    assert opened is not None
    with opened as reader:
        pull = only(reader).pull_request
    assert pull is not None
    assert pull.step == "fix"


def test_a_pull_request_that_cannot_be_read_hides_nothing_else(record: Record, reader: RunReader) -> None:
    run = record.run("r")
    run.see(PULL)
    record.database.execute(
        """UPDATE events SET data = CAST('{"kind": "pull_request_seen"}' AS BLOB) WHERE kind = 'pull_request_seen'"""
    )
    view = only(reader)
    assert (view.state, view.pull_request) == (RunState.RUNNING, None)


def test_a_pause_takes_effect_after_the_session(record: Record, reader: RunReader) -> None:
    run = record.run("run")
    run.start(1)
    controls = Controls(record.database, record.folder / "ralph.db", "run")
    controls.ask(Ask.PAUSE, at=50.0)
    run.judge(1)
    assert only(reader).state is RunState.RUNNING, "not heard yet"
    controls.hear(at=51.0)
    assert only(reader).state is RunState.PAUSED
    controls.ask(Ask.UNPAUSE, at=60.0)
    controls.hear(at=61.0)
    assert only(reader).state is RunState.RUNNING


def test_a_pause_is_over_when_a_session_was_started_since(record: Record, reader: RunReader) -> None:
    run = record.run("run", at=100.0)
    controls = Controls(record.database, record.folder / "ralph.db", "run")
    controls.ask(Ask.PAUSE, at=50.0)
    controls.hear(at=51.0)
    run.start(1)
    run.judge(1)
    assert only(reader).state is RunState.RUNNING, "the pause was of an earlier process"


def test_a_run_that_was_taken_up_again_is_no_longer_over(record: Record, reader: RunReader) -> None:
    run = record.run("run")
    run.end(Outcome.EXHAUSTED, "limit reached")
    assert only(reader).state is RunState.EXHAUSTED
    SqliteJournal(record.folder, record.database, "run", owner=ALIVE, now=500.0).take_up(options={})
    assert (only(reader).state, only(reader).reason) == (RunState.RUNNING, "")


@pytest.mark.parametrize("policy", [None, ProofPolicy("strict", "locked", ("Makefile", "tests/**"))])
def test_how_claims_are_proven_is_on_record(
    record: Record, reader: RunReader, policy: ProofPolicy | None
) -> None:
    run = record.run("one")
    assert only(reader).proof is None
    run.journal.append(RunStarted("one", "basic", "claude", "", proof=policy), at=1.0)
    run.journal.flush()
    assert only(reader).proof == policy
    assert only(reader).maximum == 10


def test_a_long_session_does_not_hide_the_check_before_it(record: Record, reader: RunReader) -> None:
    other = record.run("other", at=1.0)
    run = record.run("run", at=2.0)
    for iteration in (1, 2):
        run.start(iteration)
        other.act(5)
        run.act(RECENT)
        run.check(Verdict.PASSED, f"tests {iteration}")
        run.judge(iteration)
    run.start(3)
    run.act(5 * RECENT)
    other.act(5 * RECENT)
    view = reader.run("run", here=HERE, started_of=started_of)
    assert view is not None
    assert view.last_check == LastCheck("tests 2", "passed")


@pytest.mark.parametrize("live", [True, False], ids=["seen as it goes", "seen at the end"])
def test_a_layer_of_proof_is_shown_while_it_objects(record: Record, reader: RunReader, live: bool) -> None:
    run = record.run("run")
    run.start(1)
    for verdict, name, shown in (
        (Verdict.PASSED, LayerName.CANARY_AT_START, LastCheck("canary at the start", "passed")),
        (Verdict.PASSED, "tests", LastCheck("tests", "passed")),
        (Verdict.PASSED, LayerName.PROTECTION, LastCheck("tests", "passed")),
        (Verdict.FAILED, LayerName.CLEAN_CHECKOUT, LastCheck("clean checkout", "failed")),
        (Verdict.PASSED, LayerName.CANARY, LastCheck("clean checkout", "failed")),
        (Verdict.FAILED, "tests", LastCheck("tests", "failed")),
        (Verdict.PASSED, LayerName.CLEAN_CHECKOUT, LastCheck("tests", "failed")),
    ):
        run.check(verdict, name)
        if live:
            assert only(reader).last_check == shown
    assert only(reader).last_check == shown


def test_a_layer_that_passed_replaces_its_own_failure(record: Record, reader: RunReader) -> None:
    run = record.run("run")
    run.start(1)
    run.check(Verdict.FAILED, LayerName.PROTECTION)
    run.check(Verdict.PASSED, LayerName.PROTECTION)
    assert only(reader).last_check == LastCheck("protection", "passed")


def test_failing_checks_are_known_from_the_state_if_not_from_events(
    record: Record, reader: RunReader
) -> None:
    run = record.run("run")
    run.start(1)
    run.act(3 * RECENT)
    run.judge(1, failing=("lint", "tests"))
    assert only(reader).last_check == LastCheck("tests", "failed")


def test_damaged_json_in_a_row_does_not_hide_the_run(record: Record, reader: RunReader) -> None:
    run = record.run("run")
    run.check(Verdict.FAILED)
    record.database.execute("UPDATE runs SET state = '{\"iter', options = '[]'")
    record.database.execute("UPDATE events SET data = x'ff00'")
    view = only(reader)
    assert (view.iteration, view.maximum, view.last_check) == (0, None, None)


# --- several ---


def test_live_runs_first_then_the_newest_and_live_ones_in_any_case(record: Record, reader: RunReader) -> None:
    record.run("long ago, alive", at=1.0)
    for number in range(5):
        record.run(f"run-{number}", at=10.0 + number).end()
    record.run("killed", owner=DEAD, at=20.0)
    assert [view.id for view in runs(reader, limit=3)] == ["long ago, alive", "killed", "run-4"]
    assert len(runs(reader)) == reader.count() == 7
    assert reader.ids()[0] == "killed"


def test_a_second_look_at_what_is_over_reads_no_events(record: Record, reader: RunReader) -> None:
    for number in range(5):
        record.run(f"run-{number}", at=float(number)).end()
    first = runs(reader)
    asked: list[str] = []
    reader._database.set_trace_callback(asked.append)
    assert runs(reader) == first
    assert not [query for query in asked if "FROM events" in query]


def test_looking_again_at_a_live_run_reads_only_what_is_new(record: Record, reader: RunReader) -> None:
    run = record.run("run")
    run.start(1)
    run.act(1000)
    runs(reader)
    asked: list[str] = []
    reader._database.set_trace_callback(asked.append)
    run.act()
    assert only(reader).active_at == run.at
    (query,) = [query for query in asked if "FROM events" in query]
    assert "seq > 1002" in query


# --- events ---


def test_events_come_in_order_page_by_page_and_after_a_number(record: Record, reader: RunReader) -> None:
    run = record.run("run")
    record.run("other").act(3)
    run.start(1)
    run.act(250)
    run.start(2)
    run.act(2)
    events = list(reader.events("run"))
    assert len(events) == 1 + 1 + 250 + 1 + 2
    assert [event.seq for event in events] == sorted(event.seq for event in events)
    assert list(reader.events("run", after=events[-3].seq)) == events[-2:]
    assert [event.kind for event in reader.events("run", iteration=2)] == [
        "iteration_started",
        "agent_acted",
        "agent_acted",
    ]
    assert list(reader.events("unknown")) == []


# --- records that are not there, or not right ---


def test_a_missing_record_is_none_and_is_not_made(tmp_path: Path) -> None:
    assert open_reader(tmp_path / ".ralph") is None
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_record_that_is_just_being_made(tmp_path: Path) -> None:
    (tmp_path / "ralph.db").touch()
    assert open_reader(tmp_path) is None
    assert (tmp_path / "ralph.db").stat().st_size == 0


def test_reading_changes_nothing(record: Record) -> None:
    record.run("run").end()
    record.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    record.database.close()
    before = (record.folder / "ralph.db").read_bytes()
    with closing(sqlite3.connect(record.folder / "ralph.db")) as database:
        database.execute("PRAGMA user_version = 1")
    old = (record.folder / "ralph.db").read_bytes()
    assert old != before
    reader = open_reader(record.folder)
    assert reader is not None
    with reader:
        assert [view.id for view in runs(reader)] == ["run"]
    assert (record.folder / "ralph.db").read_bytes() == old


def test_a_record_of_the_first_schema_can_be_read(tmp_path: Path) -> None:
    first = next((Path(__file__).parents[3] / "src/ralph/adapters/storage/migrations").glob("001*.sql"))
    with closing(sqlite3.connect(tmp_path / "ralph.db")) as database:
        database.executescript(first.read_text())
        database.execute("PRAGMA application_id = 0x52414C50")
        database.execute("PRAGMA user_version = 1")
        database.execute(
            "INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at, outcome)"
            " VALUES ('old', 'basic', 'claude', '/', '{}', '{}', 1, 2, NULL)"
        )
        database.commit()
    reader = open_reader(tmp_path)
    assert reader is not None
    with reader:
        assert only(reader).state is RunState.INTERRUPTED


def test_a_log_that_a_killed_writer_left_is_read(record: Record, tmp_path: Path) -> None:
    record.run("run").start(1)
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in ("ralph.db", "ralph.db-wal"):  # as the disk has them: without the shared memory
        shutil.copy(record.folder / name, killed / name)
    reader = open_reader(killed)
    assert reader is not None
    with reader:
        assert only(reader).iteration == 1


def read_all(folder: Path) -> None:
    reader = open_reader(folder)
    assert reader is not None
    with reader:
        list(reader.events("run"))


@pytest.mark.parametrize("keep", [100, 1024, 5000])
def test_a_truncated_record_is_reported_and_left_alone(record: Record, keep: int) -> None:
    record.run("run").act(500)
    record.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    record.database.close()
    path = record.folder / "ralph.db"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StoreError, match=r"is damaged|cannot read"):
        read_all(record.folder)
    assert path.stat().st_size == keep


def test_a_newer_record_and_anothers_database_are_refused(record: Record, tmp_path: Path) -> None:
    record.database.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="newer ralph"):
        open_reader(record.folder)
    with closing(sqlite3.connect(tmp_path / "ralph.db")) as database:
        database.execute("CREATE TABLE cats (name TEXT)")
    with pytest.raises(StoreError, match="not one of ralph's"):
        open_reader(tmp_path)


def test_something_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ralph.db").mkdir()
    with pytest.raises(StoreError, match="cannot read"):
        open_reader(tmp_path)


def test_a_folder_with_odd_characters_is_no_problem(tmp_path: Path) -> None:
    folder = tmp_path / "100% #1?mode=rwc" / ".ralph"
    folder.parent.mkdir()
    record = Record(folder)
    record.run("run")
    reader = open_reader(folder)
    assert reader is not None
    with reader:
        assert json.dumps([view.id for view in runs(reader)]) == '["run"]'
    record.database.close()
