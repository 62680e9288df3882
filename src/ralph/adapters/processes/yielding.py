"""A runner for our own git, which does not keep a user waiting who wants to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import PurePath
from typing import Unpack

from ralph.engine.ports import Command, Control, Exit, ProcessRunner, RunOptions

GRACE = 5.0
"""Seconds that git gets after a stop was requested; also if that was before it began, for it may have to tidy up."""
READS = frozenset({
    "cat-file", "check-ignore", "config", "diff", "diff-index", "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree",
    "merge-base", "rev-list", "rev-parse", "show", "status", "symbolic-ref", "version",
})  # fmt: skip
"""Commands that can be ended whenever a stop is requested. Others write, and are ended only if everything is to end now."""


class YieldingRunner:
    """Usually git takes a moment. It may wait without end for what an agent put in its way, such as a pipe."""

    def __init__(self, inner: ProcessRunner, control: Control) -> None:
        self._inner = inner
        self._control = control

    async def run(self, command: Command, **options: Unpack[RunOptions]) -> Exit:
        if PurePath(command.argv[0]).name != "git":
            return await self._inner.run(command, **options)
        given = options.get("stop")
        ends = [asyncio.ensure_future(self._overdue(reads=_subcommand(command.argv) in READS))]
        if given is not None:
            ends.append(asyncio.ensure_future(_done(given)))
        stop = asyncio.ensure_future(asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED))
        try:
            options["stop"] = stop
            return await self._inner.run(command, **options)
        finally:
            for task in (stop, *ends):
                task.cancel()

    async def _overdue(self, *, reads: bool) -> None:
        if reads:
            await self._control.stop_requested()
        else:
            await asyncio.wait({asyncio.ensure_future(self._control.stop_now())})
        await asyncio.sleep(GRACE)


def _subcommand(argv: Sequence[str]) -> str:
    """The first word after ``git -c name=value …``."""
    place = 1
    while place < len(argv) and argv[place] == "-c":
        place += 2
    return argv[place] if place < len(argv) else ""


async def _done(given: Awaitable[object]) -> None:
    """Cancelling this does not cancel what somebody else waits for."""
    await asyncio.wait({asyncio.ensure_future(given)})
