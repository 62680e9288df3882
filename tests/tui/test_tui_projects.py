"""`ralph ui` over several projects: what waits first, one board, and every project a key away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest

from ralph.domain.tasks.task import TaskAsk
from ralph.domain.views.board import CardKind
from ralph.interfaces.tui.projects_app import ProjectsApp
from ralph.operations.projects import open_projects
from ralph.operations.tasks import ask_of_task
from ralph.operations.watch import open_feed
from tests.tui.sample import NOW, RUN, Record, add_tasks, earlier_run
from tests.tui.seen import SMALL, Viewer
from tests.tui.terminal import terminal


@pytest.fixture
def roots(tmp_path: Path) -> Iterator[tuple[Path, ...]]:
    """A shop with a live run and tasks, one of them cancelled; another where a run ended; and one that is damaged."""
    shop, api, damaged = (tmp_path / name for name in ("shop", "api", "damaged"))
    for folder in (shop, api, damaged / ".ralph"):
        folder.mkdir(parents=True)
    (damaged / ".ralph" / "ralph.db").write_bytes(b"no database at all " * 100)
    earlier_run(api)
    with Record(shop) as record:
        add_tasks(record.database)
        yield shop, api, damaged


def play(
    roots: tuple[Path, ...],
    story: Callable[[Viewer, ProjectsApp], Awaitable[None]],
    *,
    size: tuple[int, int] = SMALL,
) -> ProjectsApp:
    app = ProjectsApp(open_projects(roots), now=lambda: NOW, zone=UTC)

    async def whole() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await story(Viewer(app, pilot), app)  # type: ignore[arg-type]

    asyncio.run(whole())
    return app


def lane_of(root: Path, name: str) -> str:
    with open_feed(root / ".ralph") as feed:
        detail = feed.card(CardKind.TASK, name)
    return detail.card.lane if detail is not None else ""


def test_what_waits_comes_first_then_the_projects_and_what_they_cost(roots: tuple[Path, ...]) -> None:
    async def story(viewer: Viewer, _: ProjectsApp) -> None:
        shown = await viewer.sees("3 projects", "1 under way", "1 thing waiting for you")
        assert shown.index("cannot be read") < shown.index("api")
        assert "$0.42" in shown
        await viewer.press("2")
        await viewer.sees("shop T-2", "Receipts by mail")

    play(roots, story, size=(130, 30))


@pytest.mark.parametrize("size", [(50, 16), SMALL, (130, 40)])
def test_every_size_has_its_footer(roots: tuple[Path, ...], size: tuple[int, int]) -> None:
    async def story(viewer: Viewer, app: ProjectsApp) -> None:
        await viewer.sees("3 projects", "q Quit")
        assert app.screen.max_scroll_y == 0

    play(roots, story, size=size)


def test_a_project_is_opened_and_a_damaged_one_says_why(roots: tuple[Path, ...]) -> None:
    async def story(viewer: Viewer, _: ProjectsApp) -> None:
        await viewer.sees("cannot be read")
        await viewer.press("enter")
        await viewer.hears("is damaged")
        await viewer.press("tab", "down", "enter")

    opened = play(roots, story).opened
    assert opened is not None
    assert (opened.project.name, opened.run_id) == ("api", None)


def test_a_task_of_any_project_is_cancelled_and_tried_again(roots: tuple[Path, ...]) -> None:
    shop = roots[0]

    async def story(viewer: Viewer, _: ProjectsApp) -> None:
        await viewer.press("2")
        await viewer.sees("shop T-2")
        await viewer.press("down", "c")
        await viewer.sees("Cancel task T-2")
        await viewer.press("enter")
        await viewer.until(lambda: lane_of(shop, "T-2") == "cancelled", "T-2 is cancelled")
        await viewer.sees("Cancelled 2")
        await viewer.press("r")
        await viewer.until(lambda: lane_of(shop, "T-2") == "coder", "T-2 is open again")

    play(roots, story)


def test_two_tasks_of_one_name_stay_apart(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        with Record(folder) as record:
            add_tasks(record.database)

    async def story(viewer: Viewer, _: ProjectsApp) -> None:
        await viewer.press("2")
        await viewer.sees("┏━one T-1")
        await viewer.press("down")
        await viewer.sees("┏━other T-1")
        ask_of_task(one / ".ralph", "T-1", TaskAsk.CANCEL)
        await viewer.sees("Cancelled 3", "┏━other T-1")  # the cursor stays where it is
        await viewer.press("c")
        await viewer.sees("Cancel task T-1")
        await viewer.press("enter")
        await viewer.until(lambda: lane_of(other, "T-1") == "cancelled", "the other T-1 is cancelled")

    play((one, other), story, size=(130, 40))


def test_work_is_started_after_a_question_and_its_refusal_is_said(roots: tuple[Path, ...]) -> None:
    (roots[0] / ".ralph" / "settings.json").write_text('{"agent": {"command": "./agent"}}')

    async def story(viewer: Viewer, _: ProjectsApp) -> None:
        await viewer.sees("cannot be read")
        await viewer.press("w")
        await viewer.hears("select a project first")
        await viewer.press("tab", "w")
        await viewer.sees("Start work on 3 tasks of shop?")
        await viewer.press("escape")
        await viewer.misses("Start work on 3 tasks")
        await viewer.press("w", "enter")
        await viewer.hears("starting work in shop")
        await viewer.until(lambda: len(viewer.heard) > 2, "the refusal")

    play(roots, story, size=(130, 30))
    assert not list((roots[0] / ".ralph").glob("detached-*"))


def test_a_real_terminal_goes_to_a_project_and_back(roots: tuple[Path, ...]) -> None:
    shop, api, damaged = roots
    with terminal(None, "--root", str(shop), "--root", str(api), "--root", str(damaged)) as tmux:
        tmux.sees("3 projects", "cannot be read")
        tmux.press("Tab", "Enter")
        tmux.sees("● running", RUN, "0 Projects")
        tmux.press("0")
        tmux.sees("3 projects", "cannot be read")
        tmux.press("q")
        tmux.sees("ended with 0")
