"""`ralph status`, `show`, `logs` and `report` say how the pull request of a run stands; those of others say null."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import PullRequestSeen, RunEnded
from ralph.domain.loop.session_report import Spend
from tests.web.conftest import LiveRun

URL = "https://github.com/o/r/pull/12"
BAD = "\x1b]0;t\x07\u202eevil\nname"
SEEN = PullRequestSeen(
    12, URL, BAD, "sort", "main", "9f3e" * 10, "open", "wait", "waits for build",
    checks=(SeenCheck("build", "pending", f"{URL}/1"), SeenCheck(BAD, "passed", is_flaky=True)),
)  # fmt: skip
SENTENCE = f"pull request #12 open: waits for build · 1 of 2 checks passed · {URL}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A whole with a task that delivers, and an earlier run without a pull request."""
    folder = tmp_path_factory.mktemp("pull") / "project"
    state = folder / ".ralph"
    with (
        closing(LiveRun(state, "plain")) as plain,
        closing(LiveRun(state, "whole")),
        closing(LiveRun(state, "part", parent="whole", task="T-1", prompt="Sort")) as part,
        closing(LiveRun(state, "older", prompt="Count")) as older,
    ):
        plain.end()
        older.write(
            replace(SEEN, number=11, url=f"{URL}1", state="merged", step="done", reason="merged by ann"),
            RunEnded(Outcome.COMPLETED, "merged by ann", 1, Spend(), 1.0),
        )
        part.iterate(1)
        part.write(SEEN)
        yield folder


def ralph(place: Path, *arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", *arguments, "--project-dir", str(place)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"},
    )
    assert not any(sign in ran.stdout for sign in ("\x1b", "\x07"))
    assert "\u202e" not in ran.stdout or "report" in arguments, "a report in JSON is a file of its own"
    return ran.stdout


def on_terminal(place: Path, columns: int, *arguments: str) -> list[str]:
    """The lines on a terminal of this width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run(
        [sys.executable, "-m", "ralph", *arguments, "--project-dir", str(place)],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=True,
        env={**os.environ, "NO_COLOR": "1", "TERM": "xterm", "LC_ALL": "C.UTF-8"},
    )
    os.close(follower)
    found = b""
    while piece := _read(leader):
        found += piece
    os.close(leader)
    return found.decode().replace("\r\n", "\n").splitlines()


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # Linux: everyone has closed the other end
        return b""


def test_status_has_a_line_for_what_is_open(place: Path) -> None:
    lines = ralph(place, "status").splitlines()
    assert lines[-1] == f"part  {SENTENCE}", "the one that is merged needs nobody's attention"
    assert sum("pull request" in line for line in lines) == 1
    assert any(line.startswith("part ") and "waiting" in line for line in lines)
    assert ralph(place, "status", "--tree").splitlines()[-1] == f"part  {SENTENCE}"


def test_status_as_json_adds_a_key_and_keeps_the_others(place: Path) -> None:
    runs = {run["id"]: run for run in json.loads(ralph(place, "status", "--json"))["runs"]}
    pull = runs["part"]["pull_request"]
    assert (pull["number"], pull["url"], pull["state"], pull["step"]) == (12, URL, "open", "wait")
    assert (pull["reason"], pull["head"]) == ("waits for build", SEEN.head)
    assert pull["checks"][1] == {
        "name": BAD, "standing": "passed", "url": "", "is_flaky": True, "is_required": True,
    }  # fmt: skip
    assert (runs["part"]["state"], runs["part"]["reason"]) == ("waiting", "waits for build")
    assert runs["older"]["pull_request"]["state"] == "merged"
    assert runs["plain"]["pull_request"] is None
    assert runs["whole"]["pull_request"] is None, "each task has its own"
    assert {"id", "state", "live", "iteration", "last_check", "concerns", "quota"} <= runs["plain"].keys()


def test_show_has_the_line_and_the_json(place: Path) -> None:
    assert f"  {SENTENCE}\n" in ralph(place, "show", "part")
    assert "  pull request #11 merged by ann · 1 of 2 checks passed" in ralph(place, "show", "older")
    assert "pull request" not in ralph(place, "show", "plain")
    shown: dict[str, Any] = json.loads(ralph(place, "show", "whole", "--json"))
    assert shown["run"]["pull_request"] is None
    assert [task["run"]["pull_request"]["number"] for task in shown["tasks"]] == [12]


def test_logs_of_a_whole_name_the_task(place: Path) -> None:
    text = ralph(place, "logs", "whole")
    assert "[T-1] ⏳ #12 waits for build · 1 of 2 checks passed\n" in text
    assert "[T-1]    ⚠ passed, but flaky: \\u202eevil name\n" in text
    assert "\nname" not in text
    (event,) = (
        json.loads(line)
        for line in ralph(place, "logs", "part", "--json").splitlines()
        if "pull_request_seen" in line
    )
    assert event["checks"][1]["name"] == BAD


def test_the_report_of_the_whole_has_that_of_its_task(place: Path) -> None:
    assert f"T\\-1: [#12]({URL})" in ralph(place, "report", "whole", "-o", "-", "--format", "md")
    data = json.loads(ralph(place, "report", "whole", "-o", "-", "--format", "json"))
    assert data["pull_requests"] == []
    assert data["parts"][0]["pull_request"]["flaky"] == [BAD]


@pytest.mark.parametrize("command", ["status", "show"])
def test_forty_columns_are_enough(place: Path, command: str) -> None:
    lines = on_terminal(place, 40, command, *(["part"] if command == "show" else []))
    assert any(URL in line for line in lines), "the address is whole"
    assert all(len(line) <= 40 for line in lines if str(place.name) not in line), "a path is one word"
    assert not any("\x1b" in line for line in lines)
