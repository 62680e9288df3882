"""`ralph fleet worker` as people start it: a real server, real processes, real git, and an agent that counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.world.machines import Machines, is_alive, wait_until
from tests.fleet.world.server import Server, free_port


@pytest.fixture
def machines(tmp_path: Path, server: Server) -> Iterator[Machines]:
    found = Machines(tmp_path, server)
    try:
        yield found
    finally:
        found.close()


def test_a_job_is_done_session_by_session(machines: Machines) -> None:
    worker = machines.start("w1")
    machines.submit(machines.job("count-1"))

    ended = machines.await_end("count-1")

    last = ended.progress.last
    assert (last.outcome, last.iteration, last.exit_code) == ("completed", 3, 0)
    assert last.cost == pytest.approx(0.03)
    assert machines.file("ralph/count-1", "work.txt") == "x\nx\nx\n"
    assert [each["number"] for each in machines.launches] == [1, 2, 3]
    assert [each["iteration"] for each in worker.news("shift_ended")] == [1, 2, 3]
    assert worker.leave() == 0, worker.talk.read_text()


def test_a_worker_that_is_killed_is_replaced(machines: Machines) -> None:
    held = machines.hold(2)
    first = machines.start("w1", "--slots", "1")
    machines.submit(machines.job("count-2"))
    wait_until(lambda: len(machines.launches) == 2, "the second session is under way")
    second = machines.start("w2", "--slots", "1")

    first.kill()
    wait_until(lambda: not is_alive(int(str(machines.launches[1]["pid"]))), "its agent died with it")
    held.unlink()
    ended = machines.await_end("count-2")

    assert (ended.progress.last.outcome, ended.progress.last.iteration) == ("completed", 3)
    assert (ended.progress.lost_shifts, ended.progress.worker) == (1, "w2")
    assert machines.file("ralph/count-2", "work.txt") == "x\nx\nx\n"
    assert [each["number"] for each in machines.launches] == [1, 2, 2, 3]
    assert second.leave() == 0


def test_a_worker_finishes_its_session_before_it_leaves(machines: Machines) -> None:
    held = machines.hold(1)
    worker = machines.start("w1")
    machines.submit(machines.job("count-3"))
    wait_until(lambda: machines.launches, "a session is under way")

    worker.process.send_signal(signal.SIGTERM)
    wait_until(lambda: worker.news("worker_leaving"), "it says so")
    held.unlink()

    assert worker.process.wait(60) == 0, worker.talk.read_text()
    machines.start("w2")
    ended = machines.await_end("count-3")
    assert (ended.progress.last.outcome, ended.progress.lost_shifts) == ("completed", 0)
    assert [each["number"] for each in machines.launches] == [1, 2, 3]


def test_a_second_signal_hands_the_session_over(machines: Machines) -> None:
    machines.hold(1)
    worker = machines.start("w1")
    machines.submit(machines.job("count-4"))
    wait_until(lambda: machines.launches, "a session is under way")

    worker.process.send_signal(signal.SIGINT)
    wait_until(lambda: worker.news("worker_leaving"), "it heard the first")
    worker.process.send_signal(signal.SIGINT)

    assert worker.process.wait(60) == 130, worker.talk.read_text()
    assert not is_alive(int(str(machines.launches[0]["pid"])))
    assert machines.look("count-4").is_open


def test_a_stop_at_once_ends_the_agent_and_the_job(machines: Machines) -> None:
    machines.hold(1)
    machines.start("w1")
    machines.submit(machines.job("count-7"))
    wait_until(lambda: machines.launches, "a session is under way")

    machines.stop("count-7", now=True)
    ended = machines.await_end("count-7")

    assert (ended.progress.last.outcome, ended.progress.last.exit_code) == ("cancelled", 130)
    assert not is_alive(int(str(machines.launches[0]["pid"])))


def test_a_session_outlives_the_server(tmp_path: Path, own_server: Server) -> None:
    machines = Machines(tmp_path, own_server)
    try:
        held = machines.hold(2)
        worker = machines.start("w1")
        machines.submit(machines.job("count-6"))
        wait_until(lambda: len(machines.launches) == 2, "the second session is under way")
        own_server.kill()
        wait_until(lambda: worker.news("server_lost"), "it noticed")
        held.unlink()
        wait_until(lambda: len(worker.news("shift_ended")) == 2, "the session is finished without the server")
        own_server.start()

        ended = machines.await_end("count-6")

        assert (ended.progress.last.outcome, ended.progress.last.iteration) == ("completed", 3)
        assert [each["number"] for each in machines.launches] == [1, 2, 3]
        wait_until(lambda: worker.news("server_back"), "it says that the server is back")
        assert [len(worker.news(kind)) for kind in ("server_lost", "server_back")] == [1, 1]
    finally:
        machines.close()


def test_tasks_are_merged_one_after_the_other(tmp_path: Path, server: Server) -> None:
    machines = Machines(tmp_path, server, iterations=1)
    try:
        machines.start("w1", "--slots", "1")
        machines.start("w2", "--slots", "1")
        machines.submit(machines.task("task-1", "T-1", feeds=("task-3",)))
        machines.submit(machines.task("task-2", "T-2"))
        machines.submit(machines.task("task-3", "T-3", needs=("task-1",)))

        ended = [machines.await_end(f"task-{number}").progress for number in (1, 2, 3)]
    finally:
        machines.close()

    assert [each.last.outcome for each in ended] == ["completed"] * 3, ended
    assert all(each.last.merged for each in ended)
    assert [machines.file("main", f"T-{number}.txt") for number in (1, 2, 3)] == ["x\n"] * 3
    assert sorted(str(each["cwd"]).rpartition("/")[2] for each in machines.launches) == ["T-1", "T-2", "T-3"]


def test_a_repository_that_is_not_there_ends_the_job_with_words(machines: Machines) -> None:
    machines.start("w1")
    job = machines.job("count-5")
    machines.submit(type(job)(id="count-5", repository=f"{machines.folder}/nothing.git", command=job.command))

    ended = machines.await_end("count-5")

    assert ended.progress.last.outcome == "failed"
    assert "nothing.git" in ended.progress.last.reason


def test_what_is_no_job_fails_in_words(machines: Machines) -> None:
    machines.start("w1")
    machines.submit(machines.job("count-8", command=("web", "--port", "1")))

    ended = machines.await_end("count-8")

    assert ended.progress.last.outcome == "failed"
    assert "'web' cannot be submitted" in ended.progress.last.reason


def test_a_push_dies_with_its_worker(machines: Machines) -> None:
    """One that is under way could else move the job after another worker has looked at it."""
    hook, pid = machines.remote / "hooks" / "pre-receive", machines.folder / "hook.pid"
    hook.write_text(f"#!/bin/sh\necho $$ > {pid}.new && mv {pid}.new {pid}\nexec sleep 600\n")
    hook.chmod(0o755)
    worker = machines.start("w1")
    machines.submit(machines.job("count-9"))
    wait_until(pid.exists, "a push is under way")

    worker.kill()

    wait_until(lambda: not is_alive(int(pid.read_text())), "it died with the worker", within=20)


def test_a_second_worker_needs_a_home_and_a_name_of_its_own(machines: Machines) -> None:
    first = machines.start("w1")
    assert not first.news("namesake_seen")

    with pytest.raises(AssertionError, match=r"another worker is at work in .*/w1/clones") as refused:
        machines.start("w1")
    assert "--home" in str(refused.value)

    other = machines.start("w2", "--name", "w1")
    wait_until(lambda: other.news("namesake_seen"), "it says that there is another of this name")
    first.kill()
    machines.start("w1")


# --- beginnings that fail ---


def ralph(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ralph", "fleet", "worker", *words],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_without_a_server(tmp_path: Path) -> None:
    done = ralph("--sandbox", "none", HOME=str(tmp_path), TEMPORAL_ADDRESS=f"127.0.0.1:{free_port()}")

    assert done.returncode == 5
    assert "TEMPORAL_ADDRESS" in done.stderr


def test_without_a_sandbox(tmp_path: Path) -> None:
    done = ralph(HOME=str(tmp_path), PATH=str(tmp_path))

    assert done.returncode == 4
    assert "--sandbox none" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--account", "claude"], "--account"),
        ([f"--label=l{n}" for n in range(6)], "at most 5 labels"),
        (["--label", "a+b"], "cannot be a label"),
        (["--name", "a b"], "name of a worker"),
        (["--slots", "0"], "--slots"),
    ],
)
def test_bad_options(tmp_path: Path, words: list[str], said: str) -> None:
    done = ralph(*words, HOME=str(tmp_path))

    assert done.returncode == 2
    assert said in done.stderr


def test_what_a_repository_says_about_workers_does_not_count(tmp_path: Path) -> None:
    settings = tmp_path / ".ralph" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"fleet": {"labels": [f"l{n}" for n in range(6)]}}))
    done = subprocess.run(
        [sys.executable, "-m", "ralph", "fleet", "worker", "--sandbox", "none"],
        env={**os.environ, "HOME": str(tmp_path / "home"), "TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"},
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 5, done.stderr
