"""Killed at random moments, again and again: in the end everything was done once, and judged once.

``CRASH_KILLS`` is how many kills are tried over all kinds of loop (``make crash-test``): a round whose work is done before
its last one has fewer. Each round has its own seed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.running import wait_for

from .loops import Loop, Plan, Work
from .matrix import KINDS

pytestmark = [pytest.mark.promise("Nothing is lost"), pytest.mark.act("is killed at random moments")]

KILLS = 5
"""In each round."""
ROUNDS = max(1, int(os.environ.get("CRASH_KILLS", "50")) // (KILLS * len(KINDS)))
SESSIONS = 4
STRAY = "setsid sleep 30 > /dev/null 2>&1 &\n"


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.timeout(300)
def test_whatever_is_killed_is_done_once_in_the_end(loop: Loop, seed: int) -> None:
    chance = random.Random(f"{loop.kind} {seed}")
    prepare(loop)
    kills, begun = KILLS, False
    for _ in range(4 * KILLS):
        with loop.running(*(loop.again() if begun else loop.command())) as process:
            try:
                code = process.wait(timeout=chance.uniform(0.2, 1.2) if kills else 90)
                break
            except subprocess.TimeoutExpired:
                kills -= 1
                os.kill(process.pid, signal.SIGKILL)
                process.wait(timeout=60)
        begun = loop.query("SELECT id FROM runs") != []
        if not isinstance(loop, Work) and loop.query("SELECT id FROM runs WHERE outcome = 'completed'"):
            code = 0  # killed after it was done, on its way out: there is nothing to resume
            break
    assert code == 0, loop.output()[-3000:]
    if isinstance(loop, Work):
        tasks_are_done_once(loop)
    elif isinstance(loop, Plan):
        stories_are_done_once(loop)
    else:
        sessions_are_judged_once(loop)
    all_is_in_order(loop)


def prepare(loop: Loop) -> None:
    """Each kind has several things to do: sessions, tasks or stories, each of which leaves its mark."""
    if isinstance(loop, Work):
        loop.tasks = ("T-1", "T-2", "T-3")
        loop.agent(f'{STRAY}echo made > "$RALPH_TASK_ID.txt"; sleep 0.1')
    elif isinstance(loop, Plan):
        loop.stories = ("A", "B")
        loop.agent(f"{STRAY}echo more >> made.txt; sleep 0.1")
    else:
        last = f'[ "$RALPH_ITERATION" -lt {SESSIONS} ] && exit\n'
        if loop.kind == "supervise":
            last = f'[ "$RALPH_ATTEMPT" -lt {SESSIONS - 1} ] && exit\n'
        loop.agent(f"{STRAY}echo more >> made.txt; sleep 0.1\n{last}")
    # A supervised launch counts even if it was cut off.
    loop.prepare("true", times=SESSIONS + (KILLS if loop.kind == "supervise" else 0))


def sessions_are_judged_once(loop: Loop) -> None:
    ((outcome, state),) = loop.query("SELECT outcome, state FROM runs")
    assert outcome == "completed"
    judged = [
        number
        for (number,) in loop.query(
            "SELECT iteration FROM iterations WHERE decision IS NOT NULL ORDER BY iteration"
        )
    ]
    begun = {number for (number,) in loop.query("SELECT iteration FROM iterations")}
    assert begun == set(range(1, json.loads(state)["iteration"] + 1)), (
        "each launch has its number, and counts"
    )
    if loop.kind == "supervise":  # every launch counts there, also one that was cut off; it is never judged
        assert judged == sorted(set(judged)), "no launch was judged twice"
        assert len(begun) >= SESSIONS
    else:
        assert judged == list(range(1, SESSIONS + 1)), "each iteration was judged exactly once"


def tasks_are_done_once(loop: Work) -> None:
    assert loop.query("SELECT id, status FROM tasks ORDER BY id") == [(name, "done") for name in loop.tasks]
    assert loop.git("rev-list", "--count", "--merges", "main") == str(len(loop.tasks)), "each is merged once"
    merged = (
        "SELECT task_id, count(*) FROM task_events WHERE kind = 'merged' GROUP BY task_id ORDER BY task_id"
    )
    assert loop.query(merged) == [(name, 1) for name in loop.tasks]
    judged = (
        "SELECT json_extract(runs.options, '$.task'), count(*) FROM iterations JOIN runs ON runs.id = iterations.run_id"
        " WHERE decision IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    assert loop.query(judged) == [(name, 1) for name in loop.tasks], "each session is judged once"
    for name in loop.tasks:
        assert loop.git("show", f"main:{name}.txt") == "made"
        assert (loop.root / f"{name}.txt").read_text() == "made\n"
    assert loop.git("status", "--porcelain") == ""
    assert loop.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert loop.git("branch", "--list", "ralph/*") == ""


def stories_are_done_once(loop: Plan) -> None:
    document = json.loads((loop.root / "ralph" / "tasks.json").read_text())
    counts = [(story["id"], story["passes"], story["reviewCount"]) for story in document["userStories"]]
    assert counts == [(name, True, 1) for name in loop.stories]
    judged = loop.query("SELECT iteration FROM iterations WHERE decision IS NOT NULL ORDER BY iteration")
    assert judged == [(number,) for number in range(1, 2 * len(loop.stories) + 1)]
    assert loop.git("status", "--porcelain") == ""


def all_is_in_order(loop: Loop) -> None:
    with sqlite3.connect(loop.root / ".ralph" / "ralph.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    loop.git("fsck", "--no-dangling")
    runs = [run for (run,) in loop.query("SELECT id FROM runs")]
    wait_for(lambda: not any(map(marked, runs)), "the end of all processes")


def marked(run_id: str) -> bool:
    """Whether a process carries the run's mark."""
    mark = f"RALPH_RUN_ID={run_id}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False
