"""A runner whose processes run in a sandbox. Birth, time-outs and burial stay with the runner inside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from ralph.adapters.isolation.sandbox import Sandbox
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import UNLIMITED, Command, Exit, ProcessRunner, Running, Timeouts

_STDERR_KEPT = 2_000


@asynccontextmanager
async def opened(sandbox: Sandbox, runner: ProcessRunner) -> AsyncIterator[Sandbox]:
    """The sandbox, made before and taken down after the block, also if making it fails half-way."""
    try:
        await sandbox.open(runner)
        yield sandbox
    finally:
        await sandbox.close(runner)


class IsolatedRunner:
    """The ``ProcessRunner`` port around another runner. The sandbox must be open; several runners may share it.

    ``tidy`` clears up what a process left for those outside to trip over.
    """

    def __init__(
        self, inner: ProcessRunner, sandbox: Sandbox, *, tidy: Callable[[], None] | None = None
    ) -> None:
        self._inner = inner
        self._sandbox = sandbox
        self._tidy = tidy
        self._under_way = 0

    async def run(
        self,
        command: Command,
        *,
        timeouts: Timeouts = UNLIMITED,
        on_start: Callable[[Running], None] | None = None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        log: Path | None = None,
        stop: Awaitable[object] | None = None,
    ) -> Exit:
        stderr = bytearray()

        def keep_stderr(chunk: bytes) -> None:
            if len(stderr) < _STDERR_KEPT:
                stderr.extend(chunk[:_STDERR_KEPT])
            if on_stderr is not None:
                on_stderr(chunk)

        self._under_way += 1
        exit_ = Exit(Ending.STOPPED, None, 0.0)
        try:
            exit_ = await self._inner.run(
                self._sandbox.wrap(command),
                timeouts=timeouts,
                on_start=on_start,
                on_lines=on_lines,
                on_output=on_output,
                on_stderr=keep_stderr,
                log=log,
                stop=stop,
            )
        finally:
            self._under_way -= 1
            if not self._under_way:
                await self._sandbox.settle(self._inner, exit_)
                if self._tidy is not None:
                    self._tidy()
        failure = self._sandbox.failure(exit_, stderr.decode(errors="replace"))
        if failure:
            return replace(exit_, ending=Ending.NOT_STARTED, code=None, error=failure)
        return exit_


class WaryRunner:
    """For our own programs outside, which work on what others wrote: ``tidy`` is called before each of them."""

    def __init__(self, inner: ProcessRunner, tidy: Callable[[], None]) -> None:
        self._inner = inner
        self._tidy = tidy

    async def run(
        self,
        command: Command,
        *,
        timeouts: Timeouts = UNLIMITED,
        on_start: Callable[[Running], None] | None = None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        log: Path | None = None,
        stop: Awaitable[object] | None = None,
    ) -> Exit:
        self._tidy()
        return await self._inner.run(
            command,
            timeouts=timeouts,
            on_start=on_start,
            on_lines=on_lines,
            on_output=on_output,
            on_stderr=on_stderr,
            log=log,
            stop=stop,
        )
