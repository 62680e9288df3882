"""Notifies the user: terminal bell, desktop, webhook, or any command. A notifier that fails never ends a run."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from ralph.domain.loop.decision import DecisionKind
from ralph.domain.loop.events import IterationEnded, LoopEvent, PauseBegan
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.notice import Notification, notification
from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.errors import ConfigError

SECONDS = 15.0
Notifier = Callable[[Notification], Awaitable[str]]
"""Returns what went wrong; empty if nothing did."""


class Notifying:
    """A listener that calls all notifiers; ``finish`` waits for those under way, for a bounded time."""

    def __init__(
        self, notifiers: Sequence[Notifier], *, run_id: str, complain: Callable[[str], None]
    ) -> None:
        self._notifiers = tuple(notifiers)
        self._run_id = run_id
        self._complain = complain
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_waiting = False  # and whoever was told so need not hear it again at every attempt

    def __call__(self, event: LoopEvent, at: float) -> None:
        if isinstance(event, IterationEnded) and event.decision != DecisionKind.RETRY:
            self._is_waiting = False
        notice = notification(event, run_id=self._run_id, at=at)
        if notice is None or (self._is_waiting and isinstance(event, PauseBegan)):
            return
        self._is_waiting = isinstance(event, PauseBegan)
        for notifier in self._notifiers:
            task = asyncio.get_running_loop().create_task(self._notify(notifier, notice))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _notify(self, notifier: Notifier, notice: Notification) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                problem = await notifier(notice)
        except TimeoutError:
            problem = f"no answer within {SECONDS:g} s"
        except Exception as error:  # a bad address, or anything that a server answers: never the run's end
            problem = str(error) or type(error).__name__
        if problem:
            self._complain(f"could not notify: {clean_line(problem)}")

    async def finish(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SECONDS + 1)


def notifier_for(
    kind: str, *, runner: ProcessRunner, root: Path, shell: Callable[[str], tuple[str, ...]]
) -> Notifier:
    """``bell``, ``desktop``, an address (http:// or https://), or else a shell command."""
    kind = kind.strip()
    if not kind:
        message = "notify: an entry is empty"
        raise ConfigError(message, hint="say bell, desktop, an http(s) address, or a command")
    if kind == "bell":
        return _ring
    if kind.startswith(("http://", "https://")):
        return lambda notice: asyncio.to_thread(_post, kind, notice)
    if kind == "desktop":
        return lambda notice: _run(runner, root, _desktop(notice), notice)
    return lambda notice: _run(runner, root, shell(kind), notice)


async def _ring(notice: Notification) -> str:
    if sys.stderr.isatty():
        sys.stderr.write("\a")
        sys.stderr.flush()
    return ""


def _desktop(notice: Notification) -> tuple[str, ...]:
    if sys.platform == "darwin":
        script = f"display notification {json.dumps(notice.text)} with title {json.dumps('ralph')}"
        return ("osascript", "-e", script)
    return ("notify-send", "--app-name=ralph", "--", f"ralph: {notice.subject}", notice.text)


async def _run(runner: ProcessRunner, root: Path, argv: tuple[str, ...], notice: Notification) -> str:
    """A command finds the notice in its environment."""
    texts = {"RALPH_SUBJECT": notice.subject, "RALPH_TEXT": notice.text, "RALPH_NOTIFIED_RUN": notice.run_id}
    command = Command(argv, root, texts, merge_stderr=True)
    exit_ = await runner.run(command, timeouts=Timeouts(total=SECONDS))
    return "" if exit_.code == 0 else f"{argv[0]}: {exit_.error or f'exit code {exit_.code}'}"


def _post(address: str, notice: Notification) -> str:
    data, headers = json.dumps(asdict(notice)).encode(), {"Content-Type": "application/json"}
    # Only http and https get here.
    request = urllib.request.Request(address, data, headers, method="POST")  # noqa: S310
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
        return "" if answer.status < 300 else f"{address} answered {answer.status}"
