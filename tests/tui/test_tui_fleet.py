"""The fleet in the terminal UI: its jobs a key away from the runs, what needs a person first, and lines as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC
from pathlib import Path

import pytest

from ralph.domain.fleet.board import JobState
from ralph.domain.fleet.progress import Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd
from ralph.domain.views.iterations import IterationView
from ralph.interfaces.tui.app import RalphApp
from ralph.interfaces.tui.job_screen import JobScreen
from ralph.interfaces.tui.marks import JOB_MARKS
from ralph.interfaces.tui.projects_app import ProjectsApp
from ralph.operations.fleet.past import JobPast
from ralph.operations.fleet.watch import FleetWatch
from ralph.operations.projects import open_projects
from tests.fleet.world.memory_fleet import MemoryFleet, job
from tests.tui.sample import NOW
from tests.tui.seen import SMALL, Viewer

Story = Callable[[Viewer], Awaitable[None]]
END = ShiftEnd(iteration=3, maximum=10, cost=0.42, commit="abcdef0123456789")


@pytest.fixture
def fleet() -> MemoryFleet:
    found = MemoryFleet(
        job("shop-1", title="Sum the totals", since=NOW - 60, worker="box-1", end=END),
        job("shop-2", Phase.QUEUED, title="Receipts", since=NOW - 30, reason="no worker is free"),
        job(
            "shop-3",
            outcome="failed",
            title="Invoices",
            since=NOW - 600,
            end=ShiftEnd(reason="the tests fail"),
        ),
        job("shop-4", outcome="completed", since=NOW - 90, end=ShiftEnd(merged="abc", cost=1.0)),
    )
    found.beats["shop-1"] = Beat(
        worker="box-1",
        turn=3,
        iteration=4,
        cost=0.1,
        first_line=7,
        lines=("reads totals.py", "runs the tests"),
    )
    return found


def watch_of(fleet: MemoryFleet) -> FleetWatch:
    async def connect() -> MemoryFleet:
        return fleet

    return FleetWatch(connect, pace=0.05, follow_pace=0.05, read_past=fleet.past)


def play(root: Path, fleet: MemoryFleet, story: Story, *, size: tuple[int, int] = SMALL) -> None:
    (root / ".ralph").mkdir(exist_ok=True)
    watch = watch_of(fleet)
    app = RalphApp(root / ".ralph", now=lambda: NOW, zone=UTC, fleet=watch)

    async def whole() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await story(Viewer(app, pilot))

    asyncio.run(whole())
    watch.close()


@pytest.mark.parametrize("size", [(50, 16), SMALL, (160, 40)])
def test_what_needs_a_person_comes_first(root: Path, fleet: MemoryFleet, size: tuple[int, int]) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.hears("1 needs you, 1 running, 1 waiting, 1 ended, $1.42; F shows it")
        await viewer.press("F")
        shown = await viewer.sees(
            "4 jobs", "1 job waiting for you", "✘ failed", "● running", "○ queued", "✔ merged"
        )
        places = [shown.index(name) for name in ("shop-3", "shop-1", "shop-2", "shop-4")]
        assert places == sorted(places)
        assert viewer.app.screen.max_scroll_y == 0
        assert "Logs" not in shown  # of the run; its keys are out of place here
        await viewer.press("escape")
        await viewer.misses("shop-3")

    play(root, fleet, story, size=size)


def test_every_state_has_a_mark() -> None:
    assert set(JOB_MARKS) == set(JobState)


def test_a_job_shows_its_lines_as_they_come(root: Path, fleet: MemoryFleet) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("F", "down", "enter")
        await viewer.sees(
            "shop-1", "Sum the totals", "4, under way", "$0.42 + $0.10", "ralph/shop-1 at abcdef012345"
        )
        await viewer.sees("iteration 4, on box-1", "… 7 lines before these", "runs the tests")
        fleet.beats["shop-1"] = Beat(
            worker="box-1", turn=3, iteration=4, first_line=8, lines=("runs the tests", "all are green")
        )
        shown = await viewer.sees("all are green")
        assert shown.count("runs the tests") == 1
        fleet.beats["shop-1"] = Beat(
            worker="box-2", turn=3, iteration=4, first_line=0, lines=("begins again",)
        )
        await viewer.sees("iteration 4, on box-2", "begins again")

    play(root, fleet, story, size=(100, 30))


def test_a_job_that_was_left_shows_nothing_more(root: Path, fleet: MemoryFleet) -> None:
    """Its views are removed a little before the screen, and news may come in between."""

    async def story(viewer: Viewer) -> None:
        await viewer.press("F")
        await viewer.sees("shop-4")
        await viewer.press("end", "enter")
        await viewer.sees("merged as abc")
        await viewer.until(lambda: isinstance(viewer.app.screen, JobScreen), "the job")
        screen = viewer.app.screen
        assert isinstance(screen, JobScreen)
        assert screen.can_show
        leaving = viewer.app.pop_screen()
        assert not screen.can_show
        await leaving

    play(root, fleet, story, size=(100, 30))


def test_a_job_that_has_ended_shows_its_record(root: Path, fleet: MemoryFleet) -> None:
    judged = IterationView(
        iteration=1,
        attempt=1,
        started_at=NOW,
        first_seq=1,
        last_seq=2,
        decision="accept",
        reason="the agent said DONE",
    )
    fleet.pasts["shop-4"] = JobPast(iterations=(judged,), lines=("reads totals.py", "all green"), left_out=3)

    async def story(viewer: Viewer) -> None:
        await viewer.press("F")
        await viewer.sees("shop-4")
        await viewer.press("end", "enter")
        shown = await viewer.sees(
            "… 3 lines before these", "all green", "1 iteration", "1  accepted: the agent said DONE"
        )
        assert "reading its record" not in shown
        await viewer.press("escape")
        await viewer.sees("Fleet  4 jobs")  # or the next keys may still be for the job
        await viewer.press("home")
        await viewer.sees("▌shop-3")
        await viewer.press("enter")
        await viewer.sees("shop-3", "its record cannot be read from here: https://git.example.com/shop.git")

    play(root, fleet, story, size=(100, 30))


def test_at_a_hundred_columns_it_says_where_and_since_when(root: Path, fleet: MemoryFleet) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("F")
        await viewer.sees("worker", "box-1", "since", "1m ago", "3/10")

    play(root, fleet, story, size=(100, 30))


def test_the_keys_of_runs_ask_the_same_of_jobs(root: Path, fleet: MemoryFleet) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("F")
        await viewer.sees("shop-3")
        await viewer.press("p")
        await viewer.hears("job shop-3 is failed; r continues it")
        await viewer.press("r")
        await viewer.hears("shop-3: continues where it stopped")
        await viewer.sees("2 waiting")
        await viewer.press("home", "p")
        await viewer.hears("shop-1: pauses after the current session")
        await viewer.sees("⏸ pausing")
        await viewer.press("u", "s")
        await viewer.sees("Add a note for the agent of shop-1")
        await viewer.press(*"mind zero".replace(" ", "_"), "ctrl+s")
        await viewer.hears("shop-1: added to the next prompt")
        await viewer.press("x")
        await viewer.sees("Stop job shop-1?")
        await viewer.press("right", "enter")
        await viewer.hears("shop-1: stopping now")

    play(root, fleet, story)
    assert fleet.asked == [
        ("shop-3", "retry"),
        ("shop-1", "pause"),
        ("shop-1", "unpause"),
        ("shop-1", "steer", "mind_zero"),
        ("shop-1", "stop_now"),
    ]


def test_jobs_are_filtered_by_group_and_text(root: Path, fleet: MemoryFleet) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("F", "v")
        await viewer.sees("only what needs you", "shop-3")
        await viewer.misses("shop-2")
        await viewer.press("v", "v", "v", "v", "slash", *"no_worker".replace("_", " "))
        await viewer.sees("filtered by “no worker”", "shop-2")
        await viewer.misses("shop-1")
        await viewer.press("escape")
        await viewer.sees("shop-2")  # the filter stays, the screen too

    play(root, fleet, story)


def test_a_server_that_goes_away_takes_nothing_from_the_screen(root: Path, fleet: MemoryFleet) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("F")
        await viewer.sees("shop-1")
        fleet.away = "nobody answers at box:7233"
        await viewer.sees("! nobody answers at box:7233 (start it)", "shop-1")
        await viewer.press("down", "enter")
        await viewer.sees("! nobody answers at box:7233", "shop-1")
        fleet.away = ""
        await viewer.misses("nobody answers")

    play(root, fleet, story)


def test_a_server_that_was_never_there_says_so(root: Path) -> None:
    fleet = MemoryFleet()
    fleet.away = "nobody answers"

    async def story(viewer: Viewer) -> None:
        await viewer.press("F")
        await viewer.sees("! nobody answers", "nothing is known of its jobs yet")
        fleet.away = ""
        await viewer.sees("no jobs yet: `ralph fleet submit` hands one in")

    play(root, fleet, story)


def test_hostile_words_stay_words(root: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J[red]bold[/red]\u202egnp.exe"
    fleet = MemoryFleet(job("shop-1", title=hostile, reason=hostile, worker=hostile, since=NOW))
    fleet.beats["shop-1"] = Beat(worker=hostile, turn=1, iteration=1, lines=(hostile, "next"))

    async def story(viewer: Viewer) -> None:
        await viewer.press("F")
        listed = await viewer.sees("shop-1", "[red]bold[/red]")
        await viewer.press("enter")
        opened = await viewer.sees("next", "[red]bold[/red]")
        for shown in (listed, opened):
            assert not set(shown) & {"\x1b", "\x07", "\u202e"}
            assert "owned" not in shown

    play(root, fleet, story, size=(160, 40))


def test_it_is_reached_from_several_projects_and_is_not_there_unasked(
    tmp_path: Path, fleet: MemoryFleet
) -> None:
    roots = [tmp_path / name for name in ("shop", "api")]
    for folder in roots:
        (folder / ".ralph").mkdir(parents=True)

    async def whole(watch: FleetWatch | None) -> str:
        app = ProjectsApp(open_projects(roots), now=lambda: NOW, zone=UTC, fleet=watch)
        async with app.run_test(size=SMALL, notifications=True) as pilot:
            viewer = Viewer(app, pilot)  # type: ignore[arg-type]
            await viewer.sees("2 projects")
            await viewer.press("F")
            return await viewer.sees("1 job waiting for you" if watch else "2 projects")

    watch = watch_of(fleet)
    assert "shop-3" in asyncio.run(whole(watch))
    watch.close()
    assert "F Fleet" not in asyncio.run(whole(None))
