"""What jobs share: accounts, money, machines with labels, and the order in which they get their turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.domain.fleet.progress import Phase
from tests.fleet.world.commands import Typed
from tests.fleet.world.machines import Machines, wait_until
from tests.fleet.world.server import Server


@pytest.fixture
def machines(tmp_path: Path, server: Server) -> Iterator[Machines]:
    found = Machines(tmp_path, server)
    try:
        yield found
    finally:
        found.close()


def test_one_account_and_one_purse_for_all_machines(machines: Machines) -> None:
    ralph = Typed(machines.server, machines.folder)
    held = machines.hold(1)
    machines.start("w1", "--slots", "1")
    machines.start("w2", "--slots", "1")
    assert ralph("limits", "--sessions", "claude=1").returncode == 0
    machines.submit(machines.job("one"), machines.job("two"))

    wait_until(lambda: Phase.WAITING in {each.progress.phase for each in machines.jobs().values()}, "waits")
    (waiting,) = (each for each in machines.jobs().values() if each.progress.phase is Phase.WAITING)
    assert waiting.progress.reason == "the only place at claude is taken"
    assert len(machines.launches) == 1
    held.unlink()
    ended = [machines.await_end(job).progress.last for job in ("one", "two")]
    assert [(end.outcome, end.iteration) for end in ended] == [("completed", 3)] * 2
    assert machines.worked_on in (["one"] * 3 + ["two"] * 3, ["two"] * 3 + ["one"] * 3)

    assert ralph("limits", "--max-cost", "0.05").returncode == 0
    machines.submit(machines.job("three"))
    last = machines.await_end("three").progress.last
    assert (last.outcome, last.exit_code) == ("exhausted", 1)
    assert last.reason == "all jobs together have spent $0.06 of $0.05"
    assert len(machines.launches) == 6


def test_labels_and_priorities(machines: Machines) -> None:
    held = machines.hold(1)
    machines.start("plain", "--slots", "1")
    machines.submit(machines.job("first"))
    wait_until(lambda: machines.launches, "the only place is taken")
    machines.submit(machines.job("labelled", labels=("gpu",), priority=1))
    for name, priority in (("low", 5), ("usual", 3), ("high", 1)):
        machines.submit(machines.job(name, priority=priority))
    held.unlink()
    for name in ("first", "low", "usual", "high"):
        machines.await_end(name)

    assert list(dict.fromkeys(machines.worked_on)) == ["first", "high", "usual", "low"]
    assert machines.look("labelled").progress.phase is Phase.QUEUED
    machines.start("strong", "--label", "linux", "--label", "gpu")
    ended = machines.await_end("labelled")
    assert (ended.progress.last.outcome, ended.progress.worker) == ("completed", "strong")


def test_a_usage_limit_waits_on_the_server_not_on_a_machine(machines: Machines) -> None:
    until = time.time() + 15
    (machines.folder / "limit").write_text(str(until))
    first = machines.start("w1")
    machines.submit(machines.job("limited"))

    waiting = machines.reach("limited", Phase.WAITING)
    assert waiting.until >= until
    first.kill()
    machines.start("w2")
    ended = machines.await_end("limited")

    assert time.time() > until
    assert (ended.progress.last.outcome, ended.progress.last.iteration) == ("completed", 3)
    assert (ended.progress.worker, ended.progress.lost_shifts) == ("w2", 0)
    assert [each["number"] for each in machines.launches] == [1, 1, 2, 3]
