"""Drive a prepared run on a console: listeners, signals, the status line."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import click

from ralph.domain.loop.decision import Outcome
from ralph.domain.text.safe_text import clean_line
from ralph.errors import RalphError, UsageError
from ralph.interfaces.cli.console.relay import Relay, left_out
from ralph.interfaces.cli.console.run_view import Console
from ralph.interfaces.cli.options import asked_apart
from ralph.interfaces.cli.terminal import look_for
from ralph.interfaces.cli.trust_question import require_trust, tell_unmarked
from ralph.operations.runs.start import Run

if TYPE_CHECKING:
    from ralph.domain.views.runs import RunLabel
    from ralph.interfaces.cli.console.live_lines import LiveLines
    from ralph.operations.runs.shift import OpenShift
    from ralph.operations.runs.start import Launch, Listener, RunResult

TICK_SECONDS = 0.5
GARBAGE_THRESHOLD = 20_000
"""A flood of events makes many objects and hardly a cycle: the default of 700 costs a tenth of the time."""
HUNG_UP = "the terminal was closed"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_on_console(
    launch: Launch,
    *,
    verbose: bool = False,
    json_lines: bool = False,
    listeners: Sequence[Listener] = (),
    is_ours: bool = False,
) -> RunResult:
    """Run to the end and show it: the agent's words (or JSON lines) on stdout, everything else on stderr.

    Every run of the command line begins here, so nobody starts one in a project that is not trusted. ``is_ours``: ralph
    itself made the project.
    """
    shift: OpenShift | None = click.get_current_context().obj
    if shift is not None:
        launch = shift.prepare(launch)
    if not is_ours:
        require_trust(launch)
    if not is_ours and shift is None:
        _remember(launch)
    if (flag := asked_apart()) and shift is not None:
        message = f"a job does not run with {flag}"
        raise UsageError(message, hint="leave it out: `ralph fleet logs -f` shows what a job does")
    if flag:
        from ralph.interfaces.cli.apart import run_apart

        click.get_current_context().exit(run_apart(launch, flag))
    relay, note = Relay(), left_out
    if json_lines:
        from ralph.interfaces.cli.console.json_lines import left_out_line as note
    with relay.streams(out_note=note):
        result = _run_on_streams(launch, shift, verbose=verbose, json_lines=json_lines, listeners=listeners)
        if result.outcome is Outcome.CANCELLED:
            relay.hurry()
    if shift is not None:
        shift.take_result(result)
    if not is_ours:
        tell_unmarked(launch.loaded.root)
    return result


def _remember(launch: Launch) -> None:
    """For `ralph web --all`, if the user wants that; a run does not fail for it."""
    from ralph.operations.projects import remember_project

    try:
        remember_project(launch.loaded)
    except OSError as error:
        _complain(f"cannot remember this project: {error.strerror or error}")


def _run_on_streams(
    launch: Launch,
    shift: OpenShift | None,
    *,
    verbose: bool,
    json_lines: bool,
    listeners: Sequence[Listener],
) -> RunResult:
    settings = launch.settings
    err_look = look_for(sys.stderr, settings.output)
    status: LiveLines | None = None
    if err_look.live:
        from ralph.interfaces.cli.console.live_lines import LiveLines

        status = LiveLines(sys.stderr, err_look)
    out = sys.stderr if launch.profile.answers else sys.stdout
    console = Console(
        out,
        sys.stderr,
        err_look,
        verbose=verbose,
        stream_agent_output=settings.stream_agent_output,
        json_lines=json_lines,
        out_look=look_for(out, settings.output),
        status=status,
        place=_place_of(launch),
    )
    shown: list[Listener] = [console, *listeners]
    if os.environ.get("GITHUB_ACTIONS") and not json_lines:
        from ralph.interfaces.cli.console.github import GithubActions, is_github

        if is_github(os.environ):
            summary = os.environ.get("GITHUB_STEP_SUMMARY", "")
            shown.insert(0, GithubActions(sys.stderr, summary=summary))
    if json_lines:
        from ralph.interfaces.cli.console.json_lines import JsonLines

        shown.append(JsonLines(sys.stdout))

    said: set[str] = set()

    def listeners_for(label: RunLabel) -> Sequence[Listener]:
        """For a run that is part of this one: its lines name it, its agent's words are only in the logs."""
        from ralph.interfaces.cli.console.parts import console_of_part

        line = status.part(label) if status is not None else None
        part = console_of_part(
            label, sys.stdout, sys.stderr, err_look, verbose=verbose, said=said, status=line
        )
        if not json_lines:
            return [part]
        from ralph.interfaces.cli.console.json_lines import JsonLines

        return [part, JsonLines(sys.stdout, task=label.task)]

    try:
        return asyncio.run(_run(launch, shift, shown, status, listeners_for))
    except RalphError as error:
        error.is_told = console.told == error.message
        raise


def _place_of(launch: Launch) -> str:
    """For commands to type; empty if they can be typed here."""
    place = launch.root.workspace
    try:
        return "" if place.samefile(os.curdir) else str(place)
    except OSError:  # one of the two is gone
        return str(place)


async def _run(
    launch: Launch,
    shift: OpenShift | None,
    listeners: Sequence[Listener],
    status: LiveLines | None,
    listeners_for: Callable[[RunLabel], Sequence[Listener]],
) -> RunResult:
    run = Run(launch)
    with ExitStack() as signals:
        # Before there is anything on record that a signal could cut off.
        hand_over = signals.enter_context(_signals(run))
        async with run.open(listeners, complain=_complain, listeners_for=listeners_for) as opened:
            hand_over()
            gc.freeze()  # all is loaded by now, and stays
            gc.set_threshold(GARBAGE_THRESHOLD)
            gc.enable()
            if shift is not None:
                shift.begin(opened.run_id)
            ticker = asyncio.create_task(_tick(status)) if status is not None else None
            try:
                return await opened.drive()
            finally:
                if ticker is not None:
                    ticker.cancel()
                if status is not None:
                    status.clear()
                signals.close()


@contextmanager
def _signals(run: Run) -> Iterator[Callable[[], None]]:
    """Stop the run on a signal: at first as soon as Python runs, because the event loop hardly turns while a run is being
    opened; once it is open, and what is yielded was called, in the loop's turn."""
    loop = asyncio.get_running_loop()
    heeded: dict[int, Callable[[], None]] = dict.fromkeys(SIGNALS, run.stop)
    # `nohup ralph run` continues without its terminal. Otherwise nobody is left to press Ctrl-C a second time.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        heeded[signal.SIGHUP] = partial(run.stop, now=True, why=HUNG_UP)

    def heed(number: int, _frame: FrameType | None) -> None:
        if run.is_stopping:  # asked again, and nothing is under way that must be ended first
            raise KeyboardInterrupt
        heeded[number]()
        loop.call_soon_threadsafe(int)  # wakes the loop, if it is what waits

    is_handed_over = False

    def hand_over() -> None:
        nonlocal is_handed_over
        is_handed_over = True
        for number, stop in heeded.items():
            loop.add_signal_handler(number, stop)

    for number in heeded:
        signal.signal(number, heed)
    try:
        yield hand_over
    except RalphError:
        # It may have waited for what the user did not want to wait for.
        if run.is_stopping and not run.is_open:
            raise KeyboardInterrupt from None
        raise
    finally:
        # A terminal that is closed while an open run ends does not cut that off.
        for number in SIGNALS if is_handed_over else tuple(heeded):
            if not loop.remove_signal_handler(number):  # it was not handed over
                signal.signal(number, _usual(number))


def _usual(number: int) -> signal.Handlers | Callable[[int, FrameType | None], None]:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


async def _tick(status: LiveLines) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        status.tick()


def _complain(message: str) -> None:
    print(f"ralph: {clean_line(message)}", file=sys.stderr)
