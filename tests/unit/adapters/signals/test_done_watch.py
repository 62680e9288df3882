"""DONE is noticed while the agent runs, by notification and by looking now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph.adapters.signals import folder_watch
from ralph.adapters.signals.done_file import DoneFile, DoneWatch
from ralph.adapters.signals.folder_watch import FolderWatch


@dataclass
class Process:
    """Remembers what it was told."""

    told: list[float | None] = field(default_factory=list)
    pid: int = 1

    def finish_within(self, seconds: float | None) -> None:
        self.told.append(seconds)


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - it waits for the world
            await asyncio.sleep(0.005)


@pytest.fixture(params=["told", "looking"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "looking":
        monkeypatch.setattr(folder_watch, "_library", lambda: None)
    return str(request.param)


def test_the_agent_gets_its_grace_when_done_appears_and_its_time_back_when_it_goes(
    tmp_path: Path, way: str
) -> None:
    process, seen = Process(), list[str]()
    watch = DoneWatch(
        DoneFile(tmp_path / "DONE"),
        grace=7.0,
        poll_interval=0.01 if way == "looking" else 0.5,
        on_seen=lambda: seen.append("seen"),
    )

    async def scenario() -> None:
        task = asyncio.ensure_future(watch.attend(process))
        await asyncio.sleep(0)
        (tmp_path / "other").touch()
        (tmp_path / "DONE").touch()
        await until(lambda: process.told == [7.0])
        (tmp_path / "DONE").unlink()
        await until(lambda: process.told == [7.0, None])
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(scenario())

    assert seen == ["seen"]


def test_a_done_that_is_there_already_is_noticed_at_once(tmp_path: Path) -> None:
    process = Process()
    (tmp_path / "DONE").touch()

    async def scenario() -> None:
        watch = DoneWatch(DoneFile(tmp_path / "DONE"), grace=0.0, poll_interval=60.0, on_seen=lambda: None)
        task = asyncio.ensure_future(watch.attend(process))
        await until(lambda: process.told == [0.0])
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(scenario())


def test_the_grace_is_over_also_if_another_turn_gave_the_agent_its_time_back(tmp_path: Path) -> None:
    process = Process()
    (tmp_path / "DONE").touch()

    async def scenario() -> None:
        watch = DoneWatch(DoneFile(tmp_path / "DONE"), grace=0.02, poll_interval=0.01, on_seen=lambda: None)
        task = asyncio.ensure_future(watch.attend(process))
        await until(lambda: process.told[:1] == [0.02])
        process.finish_within(None)  # as a session does when its agent goes on
        so_far = len(process.told)
        await until(lambda: 0 in process.told[so_far:])
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(scenario())


def test_a_done_that_is_a_directory_is_left_to_who_judges(tmp_path: Path) -> None:
    process = Process()
    (tmp_path / "DONE").mkdir()

    async def scenario() -> None:
        watch = DoneWatch(DoneFile(tmp_path / "DONE"), grace=0.0, poll_interval=0.001, on_seen=lambda: None)
        task = asyncio.ensure_future(watch.attend(process))
        await asyncio.sleep(0.05)
        assert not task.done()
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(scenario())

    assert not process.told


def test_the_end_of_a_session_ends_the_watch_also_when_news_come_with_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        for number in range(50):

            async def attend() -> None:
                with FolderWatch(tmp_path) as folder:
                    while True:
                        await folder.changed(within=60.0)

            task = asyncio.ensure_future(attend())
            await asyncio.sleep(0)
            (tmp_path / f"file{number}").touch()
            for _ in range(number % 8):  # at every step of the news on its way to who waits for it
                await asyncio.sleep(0)
            task.cancel()
            done, _ = await asyncio.wait({task}, timeout=60.0)
            task.cancel()
            assert done

    asyncio.run(scenario())


def test_a_folder_that_does_not_exist_is_looked_at_now_and_then(tmp_path: Path) -> None:
    async def scenario() -> None:
        with FolderWatch(tmp_path / "nowhere") as folder:
            await folder.changed(within=0.001)

    asyncio.run(scenario())
