"""A watch keeps what it knew of a fleet that is away, and waits for no answer forever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from tests.fleet.world.memory_fleet import MemoryFleet, job

from ralph.domain.fleet.board import JobAsk
from ralph.domain.fleet.shift import Beat
from ralph.domain.fleet.views import JobView
from ralph.errors import ServiceAway, UsageError
from ralph.operations.fleet.past import JobPast
from ralph.operations.fleet.watch import FleetWatch

pytestmark = pytest.mark.timeout(60)


class Connection:
    """``fails``: so often before it is there."""

    def __init__(self, fleet: MemoryFleet, fails: int = 0) -> None:
        self.fleet, self.fails, self.made = fleet, fails, 0

    async def __call__(self) -> MemoryFleet:
        if self.fails:
            self.fails -= 1
            message = "nobody answers"
            raise ServiceAway(message)
        self.made += 1
        return self.fleet


def test_what_was_known_stays_while_the_server_is_away() -> None:
    connection = Connection(MemoryFleet(job("a")), fails=1)

    async def look() -> None:
        watch = FleetWatch(connection)
        first = await watch.look()
        assert (first.problem, first.is_read, first.jobs) == ("nobody answers", False, ())
        seen = await watch.look()
        assert (seen.problem, [each.spec.id for each in seen.jobs]) == ("", ["a"])
        connection.fleet.away = "it is restarted"
        away = await watch.look()
        assert (away.problem, away.hint, away.jobs, away.seen_at) == (
            "it is restarted",
            "start it",
            seen.jobs,
            seen.seen_at,
        )
        connection.fleet.away = ""
        assert not (await watch.look()).problem
        assert connection.made == 1
        watch.close()

    asyncio.run(look())


def test_a_server_that_says_nothing_counts_as_away() -> None:
    async def silent() -> MemoryFleet:
        await asyncio.Event().wait()
        raise AssertionError

    async def look() -> None:
        watch = FleetWatch(silent, patience=0.05)
        assert "has not answered" in (await watch.look()).problem
        watch.close()

    asyncio.run(look())


def test_a_job_is_followed_and_asked() -> None:
    fleet = MemoryFleet(job("a"), job("b", outcome="failed"))
    fleet.beats = {"a": Beat(lines=("x",)), "b": Beat(lines=("late",))}

    async def ask() -> None:
        watch = FleetWatch(Connection(fleet))
        assert (await watch.follow("a")).beat == fleet.beats["a"]
        assert (await watch.follow("b")).beat is None  # its last session is over
        with pytest.raises(UsageError, match="no job c"):
            await watch.follow("c")
        with pytest.raises(UsageError, match="the note is empty"):
            await watch.ask("a", JobAsk.STEER, " ")
        for asked in JobAsk:
            await watch.ask("b" if asked is JobAsk.RETRY else "a", asked, "a note")
        watch.close()

    asyncio.run(ask())
    assert [words[1] for words in fleet.asked] == ["steer", "pause", "unpause", "stop", "stop_now", "retry"]


def test_the_past_of_a_job_is_read_beside_the_loop() -> None:
    """It takes git and a while, and nothing of a face may wait for it."""
    threads = []

    def read(view: JobView) -> JobPast:
        threads.append(threading.current_thread())
        return JobPast(lines=(view.spec.id,))

    async def ask() -> None:
        watch = FleetWatch(Connection(MemoryFleet()), read_past=read)
        assert (await watch.past(job("a", outcome="failed"))).lines == ("a",)
        assert threads != [threading.current_thread()]
        watch.close()

    asyncio.run(ask())


def test_no_face_loads_the_servers_library_before_it_asks() -> None:
    script = (
        "import sys\n"
        "import ralph.interfaces.web.app, ralph.interfaces.tui.projects_app\n"
        "from ralph.interfaces.cli.fleet_option import chosen_fleet\n"
        "assert chosen_fleet(wanted=False) is None\n"
        "assert 'temporalio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
