"""The record in real SQLite files."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ralph.adapters.files import write_atomic
from ralph.adapters.storage.database import APPLICATION_ID, MIGRATIONS, open_database, open_state_database
from ralph.adapters.storage.elapsed import Elapsed
from ralph.adapters.storage.journal import SqliteJournal, TakenUp
from ralph.adapters.storage.run_links import point_link
from ralph.adapters.storage.run_removal import compact_record, remove_run
from ralph.adapters.storage.wire import decode_state, encode_event, encode_state
from ralph.domain.agent.events import SessionStarted, Text, Usage, UsageReported
from ralph.domain.holder import Owner
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunEnded,
    RunStarted,
    Warned,
)
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.errors import StoreError

ME = Owner(pid=1, process_started="1", boot_id="b", host="h")


@contextmanager
def journal(folder: Path, run_id: str = "r1", *, now: float = 1.0) -> Iterator[SqliteJournal]:
    with (
        closing(open_state_database(folder)) as database,
        SqliteJournal(folder, database, run_id, owner=ME, now=now) as record,
    ):
        record.begin(profile="basic", agent="claude", root=folder, options={"prompt": "x"})
        yield record


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "ralph.db")) as database:
        return database.execute(query).fetchall()


def test_states_survive_the_death_of_the_machine_and_chatter_that_of_the_process(tmp_path: Path) -> None:
    folder = tmp_path / ".ralph"
    full, normal = 2, 1
    with closing(open_state_database(folder)) as database:

        def level() -> int:
            return int(database.execute("PRAGMA synchronous").fetchone()[0])

        with SqliteJournal(folder, database, "r1", owner=ME, now=1.0) as record:
            record.begin(profile="basic", agent="claude", root=folder, options={})
            levels = [level()]
            for number in range(2):
                record.append(AgentActed((Text("chatter"),)), at=2.0)
                record.flush()
                levels.append(level())
                for iteration in range(2):
                    record.commit(LoopState(iteration=2 * number + iteration))
                    levels.append(level())
        levels.append(level())

    assert levels == [normal, normal, full, full, normal, full, full, normal]


def test_a_run_is_on_record_from_start_to_end(tmp_path: Path) -> None:
    folder = tmp_path / ".ralph"
    state = LoopState(
        iteration=1, spend=Spend(0.5, Usage(1, 2, 3, 4), 9.0), feedback=(Feedback("r", Placement.PREPEND),)
    )
    with journal(folder) as record:
        record.append(IterationStarted(1, 1, 10, "prompt"), at=2.0)
        record.commit(LoopState(attempt=1))
        record.append(AgentActed((Text("hello"),)), at=3.0)
        record.append(
            IterationEnded(1, 1, "continue", "red", True, False, Spend(0.5, Usage(1, 2, 3, 4)), 1.0), at=4.0
        )
        record.commit(state)
        record.append(RunEnded(Outcome.EXHAUSTED, "limit", 1, Spend(), 3.0), at=5.0)

    ((stored, outcome, reason),) = rows(folder, "SELECT state, outcome, reason FROM runs")
    assert decode_state(str(stored)) == state
    assert (outcome, reason) == ("exhausted", "limit")
    assert rows(folder, "SELECT decision, claimed, proven, cost_usd, tokens FROM iterations") == [
        ("continue", 1, 0, 0.5, 10)
    ]
    kinds = [row[0] for row in rows(folder, "SELECT kind FROM events ORDER BY seq")]
    assert kinds == ["iteration_started", "agent_acted", "iteration_ended", "run_ended"]


def test_a_state_survives_the_way_to_disk_and_back() -> None:
    state = LoopState(iteration=7, attempt=2, feedback=(Feedback("ü", Placement.REPLACE),), concerns=("c",))
    assert decode_state(encode_state(state)) == state


def test_half_characters_do_not_break_the_record() -> None:
    assert json.loads(encode_event(AgentActed((Text("a\ud800b"),))))["events"][0]["text"] == "a?b"


def test_two_runs_share_one_database(tmp_path: Path) -> None:
    with journal(tmp_path, "r1") as one, journal(tmp_path, "r2") as two:
        for number in range(20):
            one.append(Warned(f"one {number}"), at=1.0)
            two.append(Warned(f"two {number}"), at=1.0)
            one.flush()
            two.flush()
    assert rows(tmp_path, "SELECT run_id, count(*) FROM events GROUP BY run_id") == [("r1", 20), ("r2", 20)]


def test_what_was_committed_survives_sigkill_and_the_database_stays_sound(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from ralph.adapters.storage.database import open_state_database
        from ralph.adapters.storage.journal import SqliteJournal, TakenUp
        from ralph.domain.holder import Owner
        from ralph.domain.loop.events import Warned
        from ralph.domain.loop.state import LoopState
        folder = Path(sys.argv[1])
        owner = Owner(pid=1, process_started="1", boot_id="b", host="h")
        record = SqliteJournal(folder, open_state_database(folder), "r1", owner=owner, now=1.0)
        record.begin(profile="p", agent="a", root=folder, options={})
        number = 0
        while True:
            number += 1
            record.append(Warned(str(number)), at=1.0)
            record.commit(LoopState(iteration=number))
            print(number, flush=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(25):
            said = process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split()
    confirmed = int(rest[-1] if rest else said)

    ((stored,),) = rows(tmp_path, "SELECT state FROM runs")
    assert decode_state(str(stored)).iteration >= confirmed
    ((events,),) = rows(tmp_path, "SELECT count(*) FROM events")
    assert events == decode_state(str(stored)).iteration
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]


def test_a_migration_is_all_or_nothing_and_runs_once(tmp_path: Path) -> None:
    path = tmp_path / "ralph.db"
    open_database(path).close()
    first = path.read_bytes()
    open_database(path).close()
    assert path.read_bytes() == first


def test_a_large_old_record_is_migrated_and_compacted_whatever_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ralph.db"
    with closing(sqlite3.connect(path)) as database:
        for migration in MIGRATIONS[:4]:
            database.executescript(migration.read_text())
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute("PRAGMA user_version = 4")
        database.execute("INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at) VALUES ('old', '', '', '', '{}', '{}', 1, 2)")  # fmt: skip
        event = ("old", 1, 1.0, "warned", b"{}" * 100)
        database.executemany(
            "INSERT INTO events (run_id, iteration, at, kind, data) VALUES (?, ?, ?, ?, ?)", [event] * 20_000
        )
        database.commit()
    size = path.stat().st_size
    monkeypatch.setattr(
        "ralph.adapters.storage.connection.MOST_SECONDS", 0.0
    )  # for what others may have written
    with (
        closing(open_database(path)) as database,
        pytest.raises(sqlite3.OperationalError, match="interrupted"),
    ):
        database.execute("SELECT sum(length(hex(data))) FROM events").fetchone()
    assert rows(tmp_path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    remove_run(tmp_path, "old")
    compact_record(tmp_path)
    assert path.stat().st_size < size / 10


@pytest.mark.parametrize("version", [0, 1, len(MIGRATIONS), 999])
def test_a_database_of_another_program_is_left_as_it_was(tmp_path: Path, version: int) -> None:
    path = tmp_path / "ralph.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE cats (name TEXT)")
        database.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(StoreError, match="not one of ralph's"):
        open_database(path)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("cats",)]


def test_many_processes_open_a_new_database_at_once(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from ralph.adapters.storage.database import open_database; open_database(Path(sys.argv[1])).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "ralph.db")], stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    for process in processes:
        _, err = process.communicate(timeout=90)
        assert process.returncode == 0, err


def test_a_database_cut_in_half_is_reported(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        for number in range(500):
            record.append(Warned("x" * 200), at=float(number))
    path = tmp_path / "ralph.db"
    path.write_bytes(path.read_bytes()[: 4096 * 3])

    def write() -> None:
        with journal(tmp_path, "r2") as record:
            record.append(Warned("x"), at=1.0)
            record.commit(LoopState())

    with pytest.raises(StoreError, match="damaged"):
        write()


def test_links_show_the_newest_files_and_never_replace_the_users(tmp_path: Path) -> None:
    (tmp_path / "prompt_001.txt").write_text("mine")
    point_link(tmp_path / "prompt_001.txt", "other.txt")
    assert (tmp_path / "prompt_001.txt").read_text() == "mine"
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    for name in ("a", "b"):
        point_link(tmp_path / "link", name)
    assert (tmp_path / "link").read_text() == "b"


def test_an_atomic_write_leaves_the_old_file_if_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_atomic(path, "old")
    with pytest.raises(TypeError):
        write_atomic(path, 7)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_an_atomic_write_does_not_follow_a_link_that_somebody_put_in_its_way(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".state.json.{os.getpid()}.tmp").symlink_to(victim)
    write_atomic(tmp_path / "state.json", "new")
    assert victim.read_text() == "precious"
    assert (tmp_path / "state.json").read_text() == "new"
    assert not (tmp_path / "state.json").is_symlink()


def test_a_run_is_taken_up_where_it_stood(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(IterationStarted(1, 1, 10, "prompt"), at=2.0)
        record.append(IterationEnded(1, 1, "continue", "red", True, False, Spend(), 1.0), at=4.0)
        record.commit(LoopState(iteration=1, seconds=3.0, feedback=(Feedback("red"),)))
        record.append(IterationStarted(2, 1, 10, "prompt"), at=5.0)
        record.commit(LoopState(iteration=1, attempt=1, seconds=3.0, feedback=(Feedback("red"),)))
    later = Owner(pid=2, process_started="2", boot_id="b", host="h")
    with (
        closing(open_state_database(tmp_path)) as database,
        SqliteJournal(tmp_path, database, "r1", owner=later, now=100.0) as record,
    ):
        taken_up = record.take_up(options={"maximumIterations": 20})
    assert taken_up.was_cut
    assert (taken_up.state.iteration, taken_up.state.attempt) == (1, 1)
    assert taken_up.state.feedback == (Feedback("red"),)
    assert taken_up.state.seconds == 3.0
    assert rows(tmp_path, "SELECT pid, outcome FROM runs") == [(2, None)]


def test_a_launch_that_was_cut_off_counts_once_however_often_the_resume_is_killed(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(IterationStarted(1, 1, 10, "prompt"), at=2.0)
        record.commit(LoopState(attempt=1))
    for _ in range(3):  # each is killed before it launches anything
        with (
            closing(open_state_database(tmp_path)) as database,
            SqliteJournal(tmp_path, database, "r1", owner=ME, now=9.0) as record,
        ):
            state = record.take_up(options={}, counts_launches=True).state
        assert (state.iteration, state.attempt) == (1, 0)


def test_what_a_killed_process_spent_after_the_last_save_is_counted(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(AgentStarted("agent", 7), at=2.0)
        record.append(AgentEnded("exited", 0, 1.0, Spend(0.5, Usage(10, 1))), at=3.0)
        record.commit(LoopState(spend=Spend(0.5, Usage(10, 1)), seconds=2.0))
        record.append(AgentStarted("agent", 8, purpose="commit"), at=4.0)
        record.append(AgentEnded("exited", 0, 1.0, Spend(0.25, Usage(5, 5))), at=5.0)
        record.append(AgentStarted("agent", 9), at=6.0)
        record.append(AgentActed((UsageReported(Usage(100, 20)),)), at=9.0)
    with (
        closing(open_state_database(tmp_path)) as database,
        SqliteJournal(tmp_path, database, "r1", owner=Owner(2, "2", "b", "h"), now=100.0) as record,
    ):
        state = record.take_up(options={}).state
    assert state.spend.usage == Usage(115, 26)
    assert state.spend.cost_usd == 0.75
    assert state.spend.is_partly_unknown, "nobody said what the last one cost"
    assert state.seconds == 2.0 + 6.0


def test_a_clock_that_was_set_forward_uses_up_no_time(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.commit(LoopState(seconds=2.0))
        record.append(AgentStarted("agent", 7), at=86_400.0)
    Elapsed(tmp_path).write(5.5)
    with (
        closing(open_state_database(tmp_path)) as database,
        SqliteJournal(tmp_path, database, "r1", owner=Owner(2, "2", "b", "h"), now=100.0) as record,
    ):
        assert record.take_up(options={}, elapsed=Elapsed(tmp_path).read()).state.seconds == 5.5


@pytest.mark.parametrize("content", ["", "soon", "nan", "inf", "-1", "\0"])
def test_a_figure_that_cannot_be_believed_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "elapsed").write_text(content)
    assert Elapsed(tmp_path).read() is None


def test_an_iteration_ends_and_counts_in_one_transaction(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(IterationStarted(1, 1, 10, "prompt"), at=2.0)
        record.flush()
        record.append(IterationEnded(1, 1, "continue", "red", True, False, Spend(), 1.0), at=4.0)
        record.flush()
        assert rows(tmp_path, "SELECT ended_at FROM iterations") == [(None,)]
        record.commit(LoopState(iteration=1))
        assert rows(tmp_path, "SELECT ended_at FROM iterations") == [(4.0,)]


def test_an_iteration_whose_end_was_not_taken_in_has_not_ended(tmp_path: Path) -> None:
    with journal(tmp_path) as record:  # and then something goes wrong
        record.append(IterationStarted(1, 1, 10, "prompt"), at=2.0)
        record.append(IterationEnded(1, 1, "accept", "done", True, True, Spend(), 1.0), at=4.0)
        record.append(Warned("later"), at=5.0)
    assert rows(tmp_path, "SELECT ended_at FROM iterations") == [(None,)]
    assert rows(tmp_path, "SELECT kind FROM events") == [("iteration_started",)]


def test_who_is_killed_while_taking_up_loses_no_time_and_counts_nothing_twice(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(AgentStarted("agent", 9), at=6.0)
        record.append(AgentActed((UsageReported(Usage(100, 20)),)), at=9.0)
    stood = []
    for now in (100.0, 200.0):  # the first one dies before it has done anything
        with (
            closing(open_state_database(tmp_path)) as database,
            SqliteJournal(tmp_path, database, "r1", owner=Owner(2, "2", "b", "h"), now=now) as record,
        ):
            stood.append(record.take_up(options={}).state)
    assert stood[0] == stood[1]
    assert (stood[1].seconds, stood[1].spend.usage) == (8.0, Usage(100, 20))


def test_what_a_killed_session_used_is_priced(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(AgentStarted("agent", 9), at=6.0)
        record.append(AgentActed((SessionStarted("s", "m1"), UsageReported(Usage(100, 20)))), at=9.0)
    with (
        closing(open_state_database(tmp_path)) as database,
        SqliteJournal(tmp_path, database, "r1", owner=Owner(2, "2", "b", "h"), now=100.0) as record,
    ):
        spend = record.take_up(
            options={}, price=lambda used, model: {"m1": 0.01}[model] * used.total
        ).state.spend
    assert spend.cost_usd == pytest.approx(1.2)
    assert not spend.is_partly_unknown


def test_a_run_whose_state_is_damaged_is_left_as_it_was(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(RunEnded(Outcome.EXHAUSTED, "limit", 1, Spend(), 3.0), at=5.0)
    with closing(sqlite3.connect(tmp_path / "ralph.db")) as database, database:
        database.execute("UPDATE runs SET state = 'x'")
    with (
        closing(open_state_database(tmp_path)) as database,
        SqliteJournal(tmp_path, database, "r1", owner=Owner(2, "2", "b", "h"), now=100.0) as record,
        pytest.raises(StoreError, match="cannot be read"),
    ):
        record.take_up(options={})
    assert rows(tmp_path, "SELECT pid, outcome FROM runs") == [(1, "exhausted")]


def test_of_a_session_without_end_only_what_it_uses_stays_on_record(tmp_path: Path) -> None:
    with journal(tmp_path) as record:
        record.append(IterationStarted(1, 1, 10, "prompt"), at=2.0)
        record.append(AgentStarted("agent", 9), at=6.0)
        for _ in range(12):
            record.append(AgentActed((Text("x" * 1_000_000), UsageReported(Usage(100, 20)))), at=9.0)
    ((size, count),) = rows(tmp_path, "SELECT sum(length(data)), count(*) FROM events")
    assert isinstance(size, int)
    assert size < 10_000_000
    assert count == 15  # one of them says that the rest is in the log
    with (
        closing(open_state_database(tmp_path)) as database,
        SqliteJournal(tmp_path, database, "r1", owner=Owner(2, "2", "b", "h"), now=100.0) as record,
    ):
        assert record.take_up(options={}).state.spend.usage == Usage(1200, 240)


def test_what_the_record_leaves_out_of_a_session_is_said_once(tmp_path: Path) -> None:
    words = AgentActed((Text("x" * 1_000_000),))
    with journal(tmp_path) as record:
        record.append(IterationStarted(1, 1, 10, "prompt"), at=1.0)
        for _ in range(20):
            record.append(words, at=2.0)
        record.commit(LoopState())
    kinds = [kind for (kind,) in rows(tmp_path, "SELECT kind FROM events ORDER BY seq")]
    assert kinds.count("warned") == 1
    assert kinds.count("agent_acted") < 12


def stopped(folder: Path, outcome: Outcome, reason: str, *more: LoopEvent) -> TakenUp:
    """A run whose last session ended with a decision to stop, as the next process finds it."""
    with journal(folder) as record:
        record.append(IterationStarted(1, 1, 10, "prompt"), at=2.0)
        record.append(AgentEnded("exited", 0, 1.0, Spend()), at=3.0)
        record.append(IterationEnded(1, 1, "stop", reason, False, False, Spend(), 1.0), at=4.0)
        record.commit(LoopState(attempt=1))
        for event in (RunEnded(outcome, reason, 0, Spend(), 3.0), *more):
            record.append(event, at=5.0)
    with (
        closing(open_state_database(folder)) as database,
        SqliteJournal(folder, database, "r1", owner=ME, now=9.0) as record,
    ):
        return record.take_up(options={})


@pytest.mark.parametrize(
    ("outcome", "reason", "was_cut"),
    [
        (Outcome.CANCELLED, "stopped by the user", True),
        (Outcome.CANCELLED, "as no version of ralph has ever put it", True),
        (Outcome.WAITING, "waiting for the review of #7", False),
        (Outcome.WAITING, "stopped by the user until the review of #7", False),  # the agent's own words
        (Outcome.FAILED, "not logged in", False),
        (Outcome.EXHAUSTED, "limit of $5.00 reached", False),
    ],
)
def test_whether_a_session_was_cut_short_does_not_depend_on_the_words_of_the_reason(
    tmp_path: Path, outcome: Outcome, reason: str, was_cut: bool
) -> None:
    assert stopped(tmp_path / ".ralph", outcome, reason).was_cut is was_cut


def test_a_stop_before_the_next_session_does_not_make_the_last_one_cut_short(tmp_path: Path) -> None:
    again = (
        RunStarted("r1", "basic", "claude", "/"),
        RunEnded(Outcome.CANCELLED, "stopped by the user", 1, Spend(), 3.0),
    )
    assert not stopped(tmp_path / ".ralph", Outcome.WAITING, "waiting for a review", *again).was_cut


@pytest.mark.parametrize(
    "reason",
    [
        "stopped by the user",
        "stopped by the user before the session was judged; its changes stay as they are",
    ],
)
def test_a_stop_that_an_earlier_version_recorded_is_known(tmp_path: Path, reason: str) -> None:
    """Rows and events as schema 6 had them before the decision had a kind."""
    folder = tmp_path / ".ralph"
    ended = {"kind": "run_ended", "outcome": "cancelled", "reason": reason, "iterations": 0, "seconds": 3.0}
    judged = {"kind": "iteration_ended", "iteration": 1, "attempt": 1, "decision": "stop", "reason": reason}
    spend: dict[str, object] = {"cost_usd": None, "usage": {}, "seconds": 0.0}
    with journal(folder):
        pass
    with closing(sqlite3.connect(folder / "ralph.db")) as database:
        database.execute(
            "INSERT INTO iterations VALUES ('r1', 1, 1, 'prompt', '', 2.0, 4.0, 'stop', ?, 0, 0, NULL, 0)",
            (reason,),
        )
        for row in (judged | {"claimed": False, "proven": False, "seconds": 1.0}, ended):
            database.execute(
                "INSERT INTO events (run_id, iteration, at, kind, data) VALUES ('r1', 1, 5.0, ?, ?)",
                (row["kind"], json.dumps(row | {"spend": spend}).encode()),
            )
        database.commit()
    with (
        closing(open_state_database(folder)) as database,
        SqliteJournal(folder, database, "r1", owner=ME, now=9.0) as record,
    ):
        assert record.take_up(options={}).was_cut
