"""The bus as a file that real processes post to at the same time, die over, and find in odd states."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.adapters.bus.listeners import LoopPosts
from ralph.adapters.bus.message_bus import MessageBus
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import IterationStarted, RunEnded, RunStarted
from ralph.domain.loop.session_report import Spend
from ralph.errors import StoreError, UsageError

PROGRAMS = Path(__file__).parents[2] / "data" / "processes"


def start(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(PROGRAMS / program), *map(str, arguments)])


def test_many_writers_at_once_lose_tear_and_forge_nothing(tmp_path: Path) -> None:
    path, writers, each = tmp_path / "TASK-MESSAGE-BUS.md", 6, 60
    processes = [start("posts_to_a_bus.py", path, f"w{number}", each) for number in range(writers)]
    assert [process.wait(timeout=50) for process in processes] == [0] * writers

    reading = MessageBus(path).read()

    assert not reading.problems
    assert reading.torn_tail is None
    said: dict[str, list[int]] = {}
    for message in reading.messages:
        writer, number = message.body.split("\n")[0].split()
        assert message.task == writer
        said.setdefault(writer, []).append(int(number))
    # Each writer's own messages are in the order in which it posted them.
    assert said == {f"w{number}": list(range(each)) for number in range(writers)}
    assert len({message.id for message in reading.messages}) == writers * each


def test_a_writer_that_died_in_the_middle_costs_only_its_own_message(tmp_path: Path) -> None:
    path = tmp_path / "bus.md"
    bus = MessageBus(path)
    bus.post("FACT", "before")
    assert start("dies_while_posting.py", path).wait(timeout=50) == -9

    torn = bus.read()
    bus.post("FACT", "after")
    whole = bus.read()

    assert [message.body for message in torn.messages] == ["before"]
    assert torn.torn_tail is not None
    assert [message.body for message in whole.messages] == ["before", "after"]
    assert "never finished" in whole.problems[0].text
    assert whole.torn_tail is None


def test_a_message_has_everything_that_was_given(tmp_path: Path) -> None:
    bus = MessageBus(tmp_path / "bus.md", now=lambda: 1_763_216_100.25)
    question = bus.post("QUESTION", "which one?", project="shop", task="search", run="r1")
    answer = bus.post("ANSWER", "the second", parents=(question.id,))

    first, second = MessageBus(bus.path).read().messages

    assert (first, second) == (question, answer)
    assert (first.time, first.project, first.task, first.run) == (1_763_216_100.25, "shop", "search", "r1")
    assert second.parents == (question.id,)


def test_a_clock_that_was_set_back_changes_no_order(tmp_path: Path) -> None:
    times = iter([2e9, 1e9])
    bus = MessageBus(tmp_path / "bus.md", now=lambda: next(times))
    bus.post("FACT", "first")
    bus.post("FACT", "second")
    assert [message.body for message in bus.read().messages] == ["first", "second"]


def test_a_bus_that_nobody_posted_to_is_empty(tmp_path: Path) -> None:
    bus = MessageBus(tmp_path / "nothing" / "bus.md")
    assert bus.read().messages == []
    assert bus.end() == 0


def test_a_bus_that_was_replaced_by_a_shorter_one_is_read_from_its_beginning(tmp_path: Path) -> None:
    bus = MessageBus(tmp_path / "bus.md")
    bus.post("FACT", "x" * 1000)
    offset = bus.read().settled
    bus.path.unlink()
    bus.post("FACT", "new")
    assert [message.body for message in bus.read(offset).messages] == ["new"]


@pytest.mark.parametrize("kind", ["directory", "link", "pipe"])
def test_what_is_no_file_is_not_written_to(tmp_path: Path, kind: str) -> None:
    path, elsewhere = tmp_path / "bus.md", tmp_path / "elsewhere"
    elsewhere.write_text("precious\n")
    if kind == "directory":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(elsewhere)
    else:
        os.mkfifo(path)

    with pytest.raises(StoreError, match="message bus") as caught:
        MessageBus(path).post("FACT", "x")

    assert caught.value.hint
    assert elsewhere.read_text() == "precious\n"


def test_a_folder_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot use the message bus"):
        MessageBus(tmp_path / "nowhere" / "bus.md").post("FACT", "x")


def test_a_bus_that_stays_locked_is_given_up_on(tmp_path: Path) -> None:
    path = tmp_path / "bus.md"
    with path.open("w") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="locked"):
            MessageBus(path, lock_seconds=0.01).post("FACT", "x")
    MessageBus(path, lock_seconds=10.0).post("FACT", "x")


def test_a_message_that_makes_no_sense_is_not_posted(tmp_path: Path) -> None:
    bus = MessageBus(tmp_path / "bus.md")
    with pytest.raises(UsageError):
        bus.post("two words", "x")
    assert not bus.path.exists()


def test_a_full_disk_leaves_no_half_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bus = MessageBus(tmp_path / "bus.md")
    bus.post("FACT", "one")
    before = bus.path.read_bytes()
    write = os.write

    def fills_up(descriptor: int, data: bytes) -> int:
        if len(data) > 20:
            return write(descriptor, data[: len(data) - 20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", fills_up)
        with pytest.raises(StoreError, match="No space left"):
            bus.post("FACT", "two")

    assert bus.path.read_bytes() == before


# --- what the loop posts ---


def ended(outcome: Outcome, reason: str) -> RunEnded:
    return RunEnded(outcome=outcome, reason=reason, iterations=2, spend=Spend(), seconds=1.0)


def posts(folder: Path, told: list[str]) -> LoopPosts:
    return LoopPosts(
        MessageBus(folder / "task.md"),
        MessageBus(folder / "project.md"),
        project="shop",
        task="search",
        run="r1",
        complain=told.append,
    )


def said(path: Path) -> list[tuple[str, str]]:
    return [(message.type, message.body) for message in MessageBus(path).read().messages]


def test_the_loop_posts_its_start_its_restarts_and_its_completion(tmp_path: Path) -> None:
    listener = posts(tmp_path, [])
    listener(RunStarted("r1", "supervised", "a.sh", "/p", 9), 0.0)
    listener(IterationStarted(1, 1, 9, "root agent"), 0.0)
    listener(IterationStarted(2, 1, 9, "root agent"), 0.0)
    listener(ended(Outcome.COMPLETED, "task completed"), 0.0)

    assert [kind for kind, _ in said(tmp_path / "task.md")] == ["RUN_START", "RESTART", "RUN_STOP"]
    assert said(tmp_path / "project.md") == [("FACT", "task search: task completed")]


def test_exhausted_restarts_are_an_error_on_the_tasks_bus(tmp_path: Path) -> None:
    posts(tmp_path, [])(ended(Outcome.EXHAUSTED, "max restarts exceeded (2)"), 0.0)
    assert said(tmp_path / "task.md")[0] == ("ERROR", "max restarts exceeded (2)")
    assert not (tmp_path / "project.md").exists()


def test_a_run_that_waits_is_stopped_and_not_failed(tmp_path: Path) -> None:
    posts(tmp_path, [])(ended(Outcome.WAITING, "for a key"), 0.0)
    assert said(tmp_path / "task.md") == [("RUN_STOP", "run stopped after 2 launches: for a key")]


def test_a_bus_that_cannot_be_written_to_ends_no_run(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "project.md").mkdir()
    listener = posts(tmp_path, told)
    listener(ended(Outcome.COMPLETED, "task completed"), 0.0)
    listener(ended(Outcome.COMPLETED, "task completed"), 0.0)
    assert len(told) == 1
    assert "project.md" in told[0]
