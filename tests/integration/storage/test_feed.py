"""What faces read, from a real record that somebody else writes meanwhile."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.feed import Feed
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.storage.run_removal import remove_run
from ralph.domain.agent.events import Text, Usage
from ralph.domain.holder import Owner
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunEnded,
    RunStarted,
    Steered,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.views.board import CardKind
from ralph.domain.views.iterations import Timeline
from ralph.domain.views.runs import Head, RunState
from ralph.errors import StoreError

HERE = Owner(99, "reader", "boot", "here")
ALIVE = Owner(7, "alive", "boot", "here")
SPEND = Spend(0.25, Usage(100, 20, 3, 0), 1.0)


def started_of(pid: int) -> str | None:
    return "alive" if pid == ALIVE.pid else None


class Writer:
    """A run as its owner writes it."""

    def __init__(self, folder: Path, name: str = "r1") -> None:
        self.name = name
        self.at = 100.0
        self._database = open_state_database(folder)
        self._journal = SqliteJournal(folder, self._database, name, owner=ALIVE, now=self.at)
        self._journal.begin(profile="basic", agent="claude", root=folder.parent, options={})
        self.write(RunStarted(name, "basic", "claude", str(folder)))

    def write(self, *events: LoopEvent) -> None:
        for event in events:
            self.at += 1.0
            self._journal.append(event, at=self.at)
        self._journal.commit(LoopState())

    def iteration(self, number: int, *verdicts: Verdict, words: int = 3) -> None:
        proven = all(verdict is Verdict.PASSED for verdict in verdicts)
        self.write(
            IterationStarted(number, 1, 10, "prompt", prompt="do it", prompt_chars=5),
            AgentStarted("claude -p", 1),
            *(AgentActed((Text(f"word {word}"),)) for word in range(words)),
            AgentEnded("exited", 0, 2.0, SPEND, tools=4, tool_errors=1),
            *(CheckEnded(CheckResult(f"check {index}", verdict)) for index, verdict in enumerate(verdicts)),
            ClaimsSought(("done: tag response",)),
            IterationEnded(
                number, 1, "accept" if proven else "continue", "why", True, proven, SPEND, 9.0, "c0ffee"
            ),
        )

    def end(self) -> None:
        self.write(RunEnded(Outcome.COMPLETED, "all done", 2, SPEND, 20.0))

    def close(self) -> None:
        self._journal.close()
        self._database.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".ralph"


@pytest.fixture
def writer(folder: Path) -> Iterator[Writer]:
    with closing(Writer(folder)) as opened:
        yield opened


@pytest.fixture
def feed(folder: Path) -> Iterator[Feed]:
    with Feed(folder, here=HERE, started_of=started_of) as opened:
        yield opened


def test_without_a_record_everything_is_empty_until_one_comes(folder: Path, feed: Feed) -> None:
    assert feed.head() == Head()
    assert feed.runs() == []
    assert feed.run("r1") is None
    assert feed.events("r1") == []
    assert feed.iterations("r1") == []
    assert feed.boards() == ()

    with closing(Writer(folder)):
        assert feed.head().seq == 1
        assert [run.id for run in feed.runs()] == ["r1"]


def test_the_head_changes_with_each_write_and_only_then(folder: Path, writer: Writer, feed: Feed) -> None:
    before = feed.head()
    assert feed.head() == before
    writer.write(Warned("careful"))
    after = feed.head()
    assert after != before
    assert after.seq == before.seq + 1
    assert feed.head() == after
    plan = folder.parent / "ralph" / "tasks.json"
    plan.parent.mkdir()
    plan.write_text("{}")
    assert feed.head() != after


def test_events_come_in_order_in_batches_and_none_twice(writer: Writer, feed: Feed) -> None:
    writer.iteration(1, Verdict.PASSED, words=25)
    seen: list[int] = []
    while batch := feed.events("r1", seen[-1] if seen else 0, limit=7):
        assert len(batch) <= 7
        seen += [event.seq for event in batch]
    assert seen == sorted(set(seen))
    assert len(seen) == 1 + 3 + 25 + 3
    newest = feed.newest("r1", limit=4)
    assert [event.seq for event in newest] == seen[-4:]
    assert newest[-1].kind == "iteration_ended"
    assert json.loads(newest[-1].data)["reason"] == "why"
    assert [event.seq for event in feed.before("r1", newest[0].seq, limit=3)] == seen[-7:-4]


def test_another_runs_events_are_not_among_them(folder: Path, writer: Writer, feed: Feed) -> None:
    with closing(Writer(folder, "r2")) as other:
        other.write(Warned("of another run"))
        writer.write(Warned("of this one"))
        assert [event.kind for event in feed.events("r2")] == ["run_started", "warned"]


def test_iterations_say_what_was_done_checked_and_decided(writer: Writer, feed: Feed) -> None:
    writer.iteration(1, Verdict.PASSED, Verdict.FAILED)
    writer.write(Steered("look at the parser"))
    writer.iteration(2, Verdict.PASSED, Verdict.PASSED)
    writer.end()

    first, second = feed.iterations("r1")

    assert (first.iteration, first.decision, first.proven, first.denied) == (1, "continue", False, True)
    assert (second.iteration, second.decision, second.proven, second.denied) == (2, "accept", True, False)
    assert [check.verdict for check in first.checks] == [Verdict.PASSED, Verdict.FAILED]
    assert (first.tools, first.tool_errors, first.commit) == (4, 1, "c0ffee")
    assert first.spend == SPEND
    assert first.claims == ("done: tag response",)
    timeline = feed.timeline("r1")
    assert [note.text for note in timeline.notes] == ["look at the parser"]
    assert timeline.ended is not None
    assert timeline.ended.reason == "all done"
    figures = timeline.figures
    assert (figures.judged, figures.denied, figures.cost_usd) == (2, 1, 0.5)
    assert [(rate.name, rate.passed, rate.ran) for rate in figures.check_rates] == [
        ("check 0", 2, 2),
        ("check 1", 1, 2),
    ]


def test_the_events_of_one_iteration_are_between_its_numbers(writer: Writer, feed: Feed) -> None:
    for number in (1, 2, 3):
        writer.iteration(number, Verdict.PASSED)
    first, second, third = feed.iterations("r1")
    assert (first.last_seq, second.last_seq) == (second.first_seq - 1, third.first_seq - 1)
    assert third.last_seq is None
    within = [
        event for event in feed.events("r1", second.first_seq - 1) if event.seq <= (second.last_seq or 0)
    ]
    assert {event.iteration for event in within} == {2}


def test_looking_often_gives_the_same_as_looking_once(folder: Path, writer: Writer, feed: Feed) -> None:
    for number in range(1, 6):
        writer.write(IterationStarted(number, 1, 10, "prompt"))
        assert feed.iterations("r1")[-1].decision == ""
        writer.write(CheckEnded(CheckResult("tests", Verdict.FAILED)))
        assert len(feed.iterations("r1")[-1].checks) == 1
        writer.write(IterationEnded(number, 1, "continue", "", False, False, SPEND, 1.0))
    with Feed(folder, here=HERE, started_of=started_of) as fresh:
        assert feed.timeline("r1") == fresh.timeline("r1")


def test_a_launch_that_was_cut_off_stays_without_a_decision(writer: Writer, feed: Feed) -> None:
    writer.write(IterationStarted(1, 1, 10, "prompt"), IterationStarted(1, 2, 10, "prompt"))
    cut, second = feed.iterations("r1")
    assert (cut.attempt, cut.decision, second.attempt) == (1, "", 2)
    assert cut.last_seq == second.first_seq - 1


def test_a_run_that_was_removed_while_watched_is_gone_everywhere(
    folder: Path, writer: Writer, feed: Feed
) -> None:
    writer.iteration(1, Verdict.PASSED)
    assert len(feed.iterations("r1")) == 1
    remove_run(folder, "r1")
    assert feed.run("r1") is None
    assert feed.events("r1") == []
    assert feed.timeline("r1") == Timeline()


def test_a_record_that_was_replaced_is_read_anew(folder: Path, feed: Feed) -> None:
    with closing(Writer(folder, "old")):
        assert [run.id for run in feed.runs()] == ["old"]
        before = feed.head()
    for name in ("ralph.db", "ralph.db-wal", "ralph.db-shm"):
        (folder / name).unlink(missing_ok=True)
    with closing(Writer(folder, "new")):
        assert feed.head() != before
        assert [run.id for run in feed.runs()] == ["new"]


def test_a_record_of_a_newer_ralph_is_refused_in_words(folder: Path, feed: Feed) -> None:
    Writer(folder).close()
    with closing(sqlite3.connect(folder / "ralph.db")) as database:
        database.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="newer ralph"):
        feed.runs()


def test_landmarks_are_found_without_reading_what_agents_said(folder: Path, writer: Writer) -> None:
    with closing(sqlite3.connect(folder / "ralph.db")) as database:
        plan = database.execute(
            "EXPLAIN QUERY PLAN SELECT data FROM events"
            " WHERE run_id = 'r1' AND seq > 5 AND kind <> 'agent_acted' ORDER BY seq LIMIT 10"
        ).fetchall()
    assert "events_landmarks" in str(plan)


def test_an_event_of_an_unknown_kind_is_passed_over(folder: Path, writer: Writer, feed: Feed) -> None:
    writer.iteration(1, Verdict.PASSED)
    with closing(sqlite3.connect(folder / "ralph.db")) as database:
        database.execute(
            "INSERT INTO events (run_id, iteration, at, kind, data) VALUES ('r1', 1, 1.0, 'novel', ?)",
            (b'{"kind": "novel"}',),
        )
        database.execute(
            "INSERT INTO events (run_id, iteration, at, kind, data) VALUES ('r1', 1, 1.0, 'warned', ?)",
            (b"{ torn",),
        )
        database.commit()
    assert [each.decision for each in feed.iterations("r1")] == ["accept"]
    assert feed.timeline("r1").seq == feed.head().seq


def test_a_live_run_is_running_for_whoever_looks(writer: Writer, feed: Feed) -> None:
    writer.write(IterationStarted(1, 1, 10, "prompt"))
    run = feed.run("r1")
    assert run is not None
    assert (run.live, run.state, run.iteration) == (True, RunState.RUNNING, 1)


STORIES = [
    {"id": "US-2", "title": "second", "priority": 2, "passes": False, "reviewStatus": None},
    {
        "id": "US-1",
        "title": "first",
        "priority": 1,
        "passes": True,
        "reviewStatus": "approved",
        "reviewCount": 2,
        "acceptanceCriteria": ["it works"],
        "dependsOn": ["US-0"],
    },
    {"id": "US-3", "priority": "high", "reviewStatus": "changes_requested", "reviewFeedback": "no tests"},
    "not a story",
]


def test_stories_stand_in_the_lane_of_their_review(folder: Path, feed: Feed) -> None:
    plan = folder.parent / "ralph" / "tasks.json"
    plan.parent.mkdir(parents=True)
    plan.write_text(json.dumps({"project": "shop", "userStories": STORIES}))

    (board,) = feed.boards()

    assert (board.kind, board.title, board.problem) == (CardKind.STORY, "shop", "")
    assert [(lane.key, [card.id for card in lane.cards]) for lane in board.lanes] == [
        ("todo", ["US-2"]),
        ("needs_review", []),
        ("changes_requested", ["US-3"]),
        ("approved", ["US-1"]),
    ]
    detail = feed.card(CardKind.STORY, "US-1")
    assert detail is not None
    assert (detail.criteria, detail.depends_on, detail.card.rounds) == (("it works",), ("US-0",), 2)
    assert feed.card(CardKind.STORY, "US-9") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"userStories": 3}', "[" * 100_000, "\ud800"])
def test_a_broken_plan_makes_a_poorer_board_and_no_error(folder: Path, feed: Feed, text: str) -> None:
    plan = folder.parent / "ralph" / "tasks.json"
    plan.parent.mkdir(parents=True)
    plan.write_bytes(text.encode("utf-8", "surrogatepass"))
    (board,) = feed.boards()
    assert board.cards == ()
    assert board.problem or text == '{"userStories": 3}'


def test_a_run_of_runs_has_parts_and_each_a_name(folder: Path, writer: Writer, feed: Feed) -> None:
    with closing(open_state_database(folder)) as database:
        started: list[dict[str, object]] = [{"prompt": "Totals", "task": "T-1"}, {"prompt": 7}, {}]
        for number, options in enumerate(started):
            name = f"p{number}"
            with SqliteJournal(folder, database, name, owner=ALIVE, now=200.0 + number) as journal:
                journal.begin(
                    profile="verified", agent="claude", root=folder, options=options, parent_id="r1"
                )
        database.execute("UPDATE runs SET options = '{ torn' WHERE id = 'p2'")
    assert [part.id for part in feed.parts("r1")] == ["p0", "p1", "p2"]
    assert feed.parts("p0") == []
    assert [str(feed.label(name)) for name in ("p0", "p1", "p2", "nobody")] == ["T-1 Totals", "", "", ""]
    assert str(feed.label("r1")) == ""
    writer.iteration(1, Verdict.PASSED)
    assert str(feed.label("r1")) == "do it"
