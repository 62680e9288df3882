"""Hearing what other terminals ask."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from ralph.adapters.control import run_control
from ralph.adapters.control.run_control import GIVE_UP_AFTER, RunControl
from ralph.errors import StoreError
from ralph.testing.fake_clock import FakeClock


@dataclass
class Locked:
    """A record that cannot be written for so many looks."""

    looks: int

    def version(self) -> int:
        return 1

    def hear(self, *, at: float) -> Sequence[str]:
        if self.looks:
            self.looks -= 1
            message = "locked by another process"
            raise StoreError(message)
        return ["stop"]


async def watched(record: Locked) -> None:
    control = RunControl(FakeClock())
    watching = asyncio.create_task(control.watch(record, lambda event: None))
    stopped = asyncio.create_task(control.stop_requested())
    done, _ = await asyncio.wait({watching, stopped}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    for task in (watching, stopped):
        if task not in done:
            task.cancel()
    if watching in done:
        watching.result()
    assert stopped in done


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_control, "LOOK_EVERY", 0.0)


def test_a_record_that_is_locked_for_a_while_does_not_make_the_run_deaf() -> None:
    asyncio.run(watched(Locked(GIVE_UP_AFTER - 1)))


def test_one_that_stays_unreadable_is_told() -> None:
    with pytest.raises(StoreError):
        asyncio.run(watched(Locked(GIVE_UP_AFTER)))
