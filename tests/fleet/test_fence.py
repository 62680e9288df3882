"""A worker that hangs and comes back finds that another has its jobs: nothing that it did meanwhile counts."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from ralph.operations.fleet.record import fetched_record
from tests.fleet.world.machines import Machines, is_alive, wait_until
from tests.fleet.world.server import Server


def test_a_worker_that_comes_back_is_fenced(tmp_path: Path, server: Server) -> None:
    """One of its sessions ends while it hangs, the other one still runs when it comes back."""
    machines = Machines(tmp_path, server)
    machines.part()
    try:
        ends = machines.hold(2, "w1")
        first = machines.start("w1", "--slots", "2")
        machines.submit(machines.job("ends"))
        wait_until(lambda: len(machines.launches) == 2, "its second session is under way")
        machines.hold(1, "w1")
        machines.submit(machines.job("runs"))
        wait_until(lambda: len(machines.launches) == 3, "its first session is under way")
        agents = [int(str(each["pid"])) for each in machines.launches[1:]]

        first.process.send_signal(signal.SIGSTOP)
        machines.start("w2", "--slots", "2")
        for job in ("ends", "runs"):
            _require_three_iterations(machines, job)
        assert all(map(is_alive, agents))
        ends.unlink()
        wait_until(lambda: not is_alive(agents[0]), "the session of the first is finished")
        first.process.send_signal(signal.SIGCONT)

        wait_until(lambda: not is_alive(agents[1]), "its agent is ended")
        wait_until(lambda: len(first.news("shift_lost")) == 2, "it says so")
        lost = {each["job"]: each["reason"] for each in first.news("shift_lost")}
        assert lost["ends"] == "another worker has the job"
        for job in ("ends", "runs"):
            _require_three_iterations(machines, job)
        assert [each["number"] for each in machines.launches].count(3) == 2
        assert first.leave() == 0, first.talk.read_text()
    finally:
        machines.close()


def _require_three_iterations(machines: Machines, job_id: str) -> None:
    ended = machines.await_end(job_id)
    last = ended.progress.last
    assert (last.outcome, last.iteration, ended.progress.worker) == ("completed", 3, "w2")
    assert machines.file(f"ralph/{job_id}", "work.txt") == "x\nx\nx\n"
    with fetched_record(machines.job(job_id)) as state:
        assert state is not None
        with closing(sqlite3.connect(next(state.glob("*.db")))) as record:
            rows = record.execute("SELECT iteration FROM iterations ORDER BY iteration").fetchall()
    assert rows == [(1,), (2,), (3,)]
