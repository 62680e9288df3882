"""Our own git ends soon after a stop, and whenever its caller has enough."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Unpack

import pytest

from ralph.adapters.processes import yielding
from ralph.adapters.processes.yielding import YieldingRunner
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, Exit, RunOptions
from ralph.engine.stop_token import StopToken

TURNS = 50


class Endless:
    """A program that waits for what never comes."""

    async def run(self, command: Command, **options: Unpack[RunOptions]) -> Exit:
        stop = options.get("stop")
        assert stop is not None
        await stop
        return Exit(Ending.STOPPED, None, 0.0)


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all that happens takes a few turns of the event loop, and no time."""
    monkeypatch.setattr(yielding, "GRACE", 0.0)
    monkeypatch.setattr(yielding, "SLOW", 0.0)


def git(*arguments: str) -> Command:
    return Command(("/usr/bin/git", "-c", "a=b", *arguments), Path("/"))


def run(command: Command, *, now: bool | None, has_enough: bool = False) -> Exit:
    async def both() -> Exit:
        control = StopToken()
        enough = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(YieldingRunner(Endless(), control).run(command, stop=enough))
        await asyncio.sleep(0)
        if now is not None:
            control.request(now=now)
        if has_enough:
            enough.set_result(None)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if running.done():
            return await running
        running.cancel()
        return Exit(Ending.EXITED, None, 0.0)

    return asyncio.run(both())


@pytest.mark.parametrize(
    ("subcommand", "now", "ending"),
    [
        ("status", False, Ending.STOPPED),
        ("status", True, Ending.STOPPED),
        ("commit", True, Ending.STOPPED),
        ("commit", False, Ending.EXITED),
        ("status", None, Ending.EXITED),
    ],
)
def test_what_only_reads_ends_with_any_stop_and_what_writes_with_that_of_everything(
    subcommand: str, now: bool | None, ending: Ending
) -> None:
    assert run(git(subcommand), now=now).ending is ending


def test_its_caller_may_end_it_too() -> None:
    assert run(git("commit"), now=None, has_enough=True).ending is Ending.STOPPED
