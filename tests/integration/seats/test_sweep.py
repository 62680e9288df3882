"""What a worker removes: seats of jobs that have ended, and mirrors that nobody has used for long."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from pathlib import Path

import pytest

from ralph.adapters.seats.lock import take_lock, try_lock
from ralph.adapters.seats.mirror import UNUSED_SECONDS

from .machines import Machine, end_of, run


async def no(_: str) -> bool:
    return False


async def yes(_: str) -> bool:
    return True


def age(machine: Machine) -> Path:
    """The only mirror, which was used so long ago."""
    (lock,) = (machine.home / "repositories").glob("*.lock")
    (mirror,) = (machine.home / "repositories").glob("*.git")
    then = time.time() - UNUSED_SECONDS - 60
    os.utime(lock, (then, then))
    return mirror


def test_a_mirror_that_nobody_uses_is_removed_and_made_again(machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    seat, _ = run(one.sit())
    run(seat.save(end_of(1)))
    mirror = age(one)

    run(one.seats.sweep(yes))
    assert mirror.exists(), "a seat has objects from there"
    run(one.seats.sweep(no))

    assert not mirror.exists()
    assert not list((one.home / "jobs").iterdir())
    assert not (one.home / "gone").exists() or not list((one.home / "gone").iterdir())
    seat, found = run(one.sit())
    assert found.end is not None
    assert found.end.turn == 1
    run(seat.save(end_of(2)))
    assert mirror.exists()


def test_a_mirror_that_was_used_lately_stays(machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    run(run(one.sit())[0].save(end_of(1)))
    mirror = age(one)
    run(one.seats.sweep(yes))
    run(one.seats.remove("j1"))
    run(run(one.sit())[0].forget())

    run(one.seats.sweep(no))

    assert mirror.exists()


def test_whoever_waits_for_a_seat_that_is_removed_gets_another(tmp_path: Path) -> None:
    folder = tmp_path / "seat"
    folder.mkdir()
    held = try_lock(folder / "lock")
    assert held is not None

    async def wait() -> bool:
        waiting = asyncio.create_task(take_lock(folder / "lock", seconds=30, what="the seat"))
        await asyncio.sleep(0)
        assert not waiting.done()
        folder.rename(tmp_path / "gone")
        held.release()
        lock = await waiting
        try:
            return try_lock(folder / "lock") is None and (folder / "lock").exists()
        finally:
            lock.release()

    assert run(wait())


def test_a_lock_whose_file_is_gone_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two would hold it: one the old file, one the new."""
    file, real = tmp_path / "lock", fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        file.rename(tmp_path / "gone")
        file.touch()  # another one was faster
        real(descriptor, how)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", flock)
        assert try_lock(file) is None
    assert try_lock(file) is not None
