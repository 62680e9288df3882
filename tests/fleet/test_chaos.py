"""Workers and the server are killed at random, again and again: in the end everything was done once, and merged once.

``make fleet-test`` does it with hundreds of jobs: the variables are in the Makefile.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.views import JobView
from ralph.operations.fleet.record import fetched_record
from tests.fleet.world.machines import Machines, wait_until
from tests.fleet.world.server import Server

JOBS = int(os.environ.get("FLEET_JOBS", "8"))
ITERATIONS = int(os.environ.get("FLEET_ITERATIONS", "3"))
WORKERS = int(os.environ.get("FLEET_WORKERS", "2"))
KILLS = int(os.environ.get("FLEET_KILLS", "4"))
SERVER_KILLS = int(os.environ.get("FLEET_SERVER_KILLS", "1"))
SEED = os.environ.get("FLEET_SEED", "1")
WITHIN = 120.0 + 6.0 * JOBS * ITERATIONS
COST = 0.01
"""Of a session, as the agent says."""


@pytest.mark.timeout(WITHIN + 300)
def test_everything_is_done_once_whoever_is_killed(tmp_path: Path, own_server: Server) -> None:
    machines = Machines(tmp_path, own_server, iterations=ITERATIONS, seconds=0.5)
    try:
        jobs = [machines.job(f"run-{n}") for n in range(JOBS - JOBS // 2)]
        jobs += [machines.task(f"task-{n}", f"T-{n}") for n in range(JOBS // 2)]
        machines.submit(*jobs)
        for number in range(WORKERS):
            machines.start(f"w{number}", "--slots", "2")
        _strike(machines, random.Random(SEED))
        ended = _await_all(machines)
        _leave(machines)

        assert Counter(job.progress.last.outcome for job in ended.values()) == {"completed": JOBS}
        for job in jobs:
            _check_record(machines, job, ended[job.id])
        _check_base(machines, [job for job in jobs if job.is_task])
        wait_until(lambda: not machines.processes(), "no process is left")
        assert not [*tmp_path.glob("w*/clones/jobs/*")], "no clone is left"
        assert not [*machines.remote.rglob("*.lock")]
    finally:
        machines.close()


def _strike(machines: Machines, chance: random.Random) -> None:
    """At moments that nobody chose: a pace at which all kills fit into the work, as far as it goes."""
    deeds = ["worker"] * KILLS + ["server"] * SERVER_KILLS
    chance.shuffle(deeds)
    steps = JOBS * ITERATIONS
    for number, deed in enumerate(deeds):
        due = steps * (number + chance.random()) / (len(deeds) + 1)
        wait_until(lambda due=due: len(machines.launches) > due, f"{deed} {number}", within=WITHIN)  # type: ignore[misc]
        time.sleep(chance.random())  # in the middle of whatever it is
        if deed == "server":
            machines.server.kill()
            time.sleep(3 * chance.random())
            machines.server.start()
        else:
            victim = chance.choice(machines.running)
            victim.kill()
            machines.start(victim.name, "--slots", "2")


def _await_all(machines: Machines) -> dict[str, JobView]:
    def open_jobs() -> list[str]:
        return [
            f"{name} {job.progress.phase} {job.progress.reason}"
            for name, job in machines.jobs().items()
            if job.is_open
        ]

    deadline = time.monotonic() + WITHIN
    while left := open_jobs():
        assert time.monotonic() < deadline, left
        time.sleep(1.0)
    return machines.jobs()


def _leave(machines: Machines) -> None:
    """Each worker leaves in good order; the next one on its machine sweeps up what those that were killed have left."""
    for machine in machines.running:
        assert machine.leave() == 0, machine.talk.read_text()
        again = machines.start(machine.name)
        home = machines.folder / machine.name / "clones" / "jobs"
        wait_until(lambda home=home: not [*home.glob("*")], f"{machine.name} sweeps")  # type: ignore[misc]
        assert again.leave() == 0, again.talk.read_text()


def _check_record(machines: Machines, job: JobSpec, ended: JobView) -> None:
    last = ended.progress.last
    with fetched_record(job) as state:
        assert state is not None
        (found,) = state.glob("*.db")
        with sqlite3.connect(found) as database:
            rows = database.execute(
                "SELECT iteration, decision FROM iterations ORDER BY iteration"
            ).fetchall()
            judged = database.execute(
                "SELECT iteration FROM events WHERE kind = 'iteration_ended' ORDER BY seq"
            ).fetchall()
            runs = database.execute("SELECT count(*) FROM runs").fetchone()
    numbers = [*range(1, ITERATIONS + 1)]
    decided = ["continue"] * (ITERATIONS - 1) + ["accept"]
    assert rows == [*zip(numbers, decided, strict=True)], job.id
    assert judged == [(number,) for number in numbers], job.id
    assert runs == (2 if job.is_task else 1,), job.id
    assert last.iteration == ITERATIONS, job.id
    sessions = sum(f"/{job.id}/" in f"{each['cwd']}/" for each in machines.launches)
    assert last.cost is not None
    assert ITERATIONS * COST - 1e-6 <= last.cost <= sessions * COST + 1e-6, job.id
    name = "work" if not job.is_task else job.id.replace("task", "T")
    assert machines.file(job.branch, f"{name}.txt") == "x\n" * ITERATIONS


def _check_base(machines: Machines, tasks: list[JobSpec]) -> None:
    log = ["git", "-C", str(machines.remote), "log", "--first-parent", "--format=%s", "main"]
    subjects = subprocess.run(log, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert len(subjects) == len(tasks) + 1, subjects
    for job in tasks:
        name = job.id.replace("task", "T")
        assert sum(f"{name} " in f"{subject} ".replace(":", " ") for subject in subjects) == 1, (
            name,
            subjects,
        )
        assert machines.file("main", f"{name}.txt") == "x\n" * ITERATIONS
