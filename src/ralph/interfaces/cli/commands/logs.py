"""``ralph logs``: what a run showed, afterwards or live."""

from __future__ import annotations

import heapq
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.loop.events import RunStarted
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import LAST, RunLabel, RunState, reason_of
from ralph.errors import RalphError, UsageError
from ralph.interfaces.cli.options import Count, json_option, project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.domain.loop.events import LoopEvent
    from ralph.domain.tasks.task import Task
    from ralph.domain.views.runs import RunView
    from ralph.interfaces.cli.console.outlet import Outlet
    from ralph.operations.runs.read import RunRecord

Listener = Callable[["LoopEvent", float], None]

EVERY = 0.2
CHUNK = 256 * 1024

HELP = """Show what happened in a run, as `ralph run` showed it. RUN is a run's name, its beginning or end, `last` (the
default), or a task, whose newest run it means. A `ralph work` is shown with all its tasks.

\b
Examples:
  ralph logs -f
  ralph logs last --iteration 3
  ralph logs --json | jq -c 'select(.type == "check_ended")'
  ralph logs --raw > session.ndjson
"""


@click.command("logs", help=HELP)
@click.argument("run", required=False, default=LAST)
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the run ends.")
@click.option("--iteration", type=Count(), metavar="N", help="Only this iteration.")
@click.option("--raw", is_flag=True, help="What the agent printed, byte for byte.")
@json_option("Events as JSON lines, as with `ralph run --json`.")
@project_dir_option
def command(
    run: str, follow: bool, iteration: int | None, raw: bool, as_json: bool, project_dir: Path | None
) -> None:
    if raw and as_json:
        message = "--raw and --json exclude each other"
        raise UsageError(message, hint="the raw log is what the agent printed; --json is ralph's own record")
    from ralph.operations.runs.read import require_record

    with require_record(state_folder(project_dir)) as record:
        view = record.view(run)
        if raw:
            _print_raw(record, view, iteration, follow=follow)
        else:
            _print_events(record, view, iteration, follow=follow, as_json=as_json)


def _print_events(
    record: RunRecord, view: RunView, iteration: int | None, *, follow: bool, as_json: bool
) -> None:
    from ralph.interfaces.cli.console.outlet import Outlet

    outlet = Outlet(sys.stdout)
    page = _Page(outlet, record.state_folder, task=view.task, as_json=as_json)
    seen: dict[str, int] = {}
    for _ in _looks(record, view, follow=follow):
        parts = [(view.id, RunLabel()), *record.tasks_of(view.id)]
        news = [_news(record, name, label, seen, iteration) for name, label in parts]
        for _, at, event, label in heapq.merge(*news, key=itemgetter(0)):
            page.add(event, at, label)
            if outlet.closed:
                return
        page.print()
    if iteration is not None and not seen:
        raise no_iteration(record, view, iteration)


def _news(
    record: RunRecord, run_id: str, label: RunLabel, seen: dict[str, int], iteration: int | None
) -> Iterator[tuple[int, float, LoopEvent, RunLabel]]:
    """What is new in one run. An iteration of a whole would be one of each task: only its own count."""
    if iteration is not None and label.task:
        return
    for seq, at, event in record.events(run_id, after=seen.get(run_id, 0), iteration=iteration):
        seen[run_id] = seq
        if event is not None:
            yield seq, at, event, label


def no_iteration(record: RunRecord, view: RunView, iteration: int) -> UsageError:
    hint = f"it has {plural(view.iteration, 'iteration')}"
    if tasks := [label.task for _, label in record.tasks_of(view.id)]:
        hint = f"its tasks have iterations: name one instead of the run, such as {clean_line(tasks[0])}"
    return UsageError(f"run {view.id} has no iteration {iteration}", hint=hint)


class _Page:
    """Renders into memory and prints in chunks: a log may hold a million small lines.

    ``task``: what the run itself worked on, if it is a part that is shown alone.
    """

    def __init__(self, outlet: Outlet, folder: Path, *, task: str, as_json: bool) -> None:
        self._outlet = outlet
        self._buffer = io.StringIO()
        self._as_json = as_json
        self._folder, self._task = folder, task
        self._shows: dict[str, Listener] = {}
        self._said: set[str] = set()

    def add(self, event: LoopEvent, at: float, label: RunLabel) -> None:
        show = self._shows.get(label.task)
        if show is None:
            show = self._shows[label.task] = self._listener(label)
        if isinstance(event, RunStarted) and not label.task:
            self._said.update(event.notes)
        show(event, at)
        if self._buffer.tell() > CHUNK:
            self.print()

    def _listener(self, label: RunLabel) -> Listener:
        if self._as_json:
            from ralph.interfaces.cli.console.json_lines import JsonLines

            return JsonLines(self._buffer, **({"task": label.task} if label.task else {}))
        return _console(self._buffer, self._folder, label, self._said, task=self._task)

    def print(self) -> None:
        text = self._buffer.getvalue()
        if not text:
            return
        self._buffer.seek(0)
        self._buffer.truncate()
        if self._as_json:
            self._outlet.write_utf8(text.encode())
        else:
            self._outlet.write(text)


def _console(out: io.StringIO, folder: Path, label: RunLabel, said: set[str], *, task: str) -> Listener:
    """Both streams of a run go to stdout: here all of it is data."""
    from ralph.config.loading import inspect
    from ralph.config.schema import OutputSettings
    from ralph.interfaces.cli.console.run_view import Console
    from ralph.interfaces.cli.terminal import look_for

    # Settings that are wrong today must not hide what happened yesterday.
    settings = inspect(folder.parent, environ=os.environ).settings
    output = settings.output if settings is not None else OutputSettings()
    look = look_for(sys.stdout, output)
    if label.task:
        from ralph.interfaces.cli.console.parts import console_of_part

        return console_of_part(label, out, out, look, verbose=False, said=said)
    return Console(
        out,
        out,
        look,
        verbose=False,
        stream_agent_output=True,
        task=lambda: _task(folder, task) if task else None,
    )


def _task(folder: Path, task_id: str) -> Task | None:
    """None: it was removed since."""
    from ralph.operations.tasks import find_tasks

    with suppress(RalphError):
        return find_tasks(folder, [task_id])[0]
    return None


def _looks(record: RunRecord, view: RunView, *, follow: bool) -> Iterator[None]:
    """Once, or repeatedly until the run has ended, and then once more for its last words."""
    if not follow:
        yield
        return
    import gc

    gc.enable()  # this may take days
    try:
        while True:
            now = record.run(view.id)
            yield
            if now is None or not now.live:
                break
            time.sleep(EVERY)
    except KeyboardInterrupt:
        return
    if now is not None and now.state is RunState.INTERRUPTED:
        _complain(f"run {now.id} was interrupted: {reason_of(now)}")


def _print_raw(record: RunRecord, view: RunView, iteration: int | None, *, follow: bool) -> None:
    from ralph.operations.runs.read import AgentLogs

    logs: dict[str, AgentLogs] = {}
    for _ in _looks(record, view, follow=follow):
        tasks = record.tasks_of(view.id) if iteration is None else []
        for name in (view.id, *(name for name, _ in tasks)):
            if name not in logs:
                logs[name] = AgentLogs(record.state_folder, name, iteration=iteration, complain=_complain)
            for chunk in logs[name].new():
                _write_raw(chunk)
        sys.stdout.flush()
    removed_to = logs[view.id].removed_to()
    if removed_to and iteration is None:
        those = "iteration 1" if removed_to == 1 else f"iterations 1 to {removed_to}"
        _complain(f"the output of {those} is no longer here (limits.keepIterations)")
    if not any(log.found for log in logs.values()):
        if iteration is not None and iteration <= removed_to:
            message = f"the stream of iteration {iteration} of run {view.id} is no longer here"
            hint = f"`ralph logs {view.id} --iteration {iteration}` shows what the record has of it"
            raise UsageError(message, hint=f"limits.keepIterations keeps the newest; {hint}")
        if iteration is not None:
            raise no_iteration(record, view, iteration)
        message = f"run {view.id} has no logs in {logs[view.id].folder}"
        raise UsageError(message, hint="its agent was never started, or the files were removed")


def _write_raw(chunk: bytes) -> None:
    """Every byte, unless on a terminal, which would obey control characters: there they are made visible."""
    if sys.stdout.isatty():
        from ralph.domain.text.safe_text import clean

        sys.stdout.write(clean(chunk.decode(errors="replace")))
    else:
        sys.stdout.buffer.write(chunk)


def _complain(message: str) -> None:
    print(f"ralph: {message}", file=sys.stderr)
