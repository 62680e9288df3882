"""A runner for our own git, which does not keep a user waiting who wants to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Unpack

from ralph.engine.ports import Command, Control, Exit, ProcessRunner, RunOptions

GRACE = 5.0
"""Seconds that git gets after a stop was requested; also if that was before it began, for it may have to tidy up."""
SLOW = 0.05
"""Seconds before anybody watches: most gits have ended by then. A stop leaves them more time than that, and a caller that has read
enough can wait."""
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
        loop = asyncio.get_running_loop()
        stop: asyncio.Future[None] = loop.create_future()
        given = options.get("stop")
        ends = [asyncio.ensure_future(given)] if given is not None else []
        watching: list[asyncio.Task[None]] = []

        def watch() -> None:
            watching.append(asyncio.create_task(self._watch(command, ends, stop)))

        later = loop.call_later(SLOW, watch)
        try:
            options["stop"] = stop
            return await self._inner.run(command, **options)
        finally:
            later.cancel()
            for task in watching:
                task.cancel()

    async def _watch(
        self, command: Command, ends: Sequence[asyncio.Future[Any]], stop: asyncio.Future[None]
    ) -> None:
        """``stop`` as soon as one of the ``ends`` has come, or git is overdue."""
        overdue = asyncio.create_task(self._overdue(reads=_subcommand(command.argv) in READS))
        try:
            await asyncio.wait((overdue, *ends), return_when=asyncio.FIRST_COMPLETED)
        finally:
            overdue.cancel()
        stop.set_result(None)

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
