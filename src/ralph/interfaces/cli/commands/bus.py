"""``ralph bus``: messages between agents, their children and people."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.text.safe_text import is_text
from ralph.errors import UsageError
from ralph.interfaces.cli.options import PATH, all_of, json_option, project_dir_option, state_folder

if TYPE_CHECKING:
    from ralph.domain.supervision.message import BusMessage, BusReading, Selection
    from ralph.operations.bus import Bus

SHOWN_BY_TAIL = 10

HELP = """Post to the message bus of a task or of the project, and read it.

A bus is a file that people can read and any number of processes can post to: TASK-MESSAGE-BUS.md in the task's folder and
.ralph/PROJECT-MESSAGE-BUS.md. By default it is the bus of the task inside a supervised agent, and the project's bus
elsewhere; --task, --task-dir and --project-bus choose another.

\b
Examples:
  ralph bus post --type PROGRESS "the parser is done"
  ralph bus post --type wait_without_restart "waiting for a key"
  ralph bus read --type ERROR --since 2h
  ralph bus tail --task search --json
"""


@click.group("bus", help=HELP)
def command() -> None:
    pass


_which_bus = all_of(
    click.option("--task", metavar="ID", help="The bus of this task."),
    click.option("--task-dir", metavar="DIR", type=PATH, help="The bus in this task folder."),
    click.option("--project-bus", is_flag=True, help="The bus of the project."),
    project_dir_option,
)
_which_messages = all_of(
    click.option(
        "--type", "types", metavar="TYPE", multiple=True, help="Only messages of this type; may be repeated."
    ),
    click.option(
        "--since",
        metavar="WHEN",
        help="Only later ones: 10m, 2h, 3d, an ISO 8601 time, or the id of a message.",
    ),
    json_option("One JSON object per line."),
)


@command.command("post")
@click.option("--type", "kind", metavar="TYPE", default="INFO", show_default=True, help="FACT, ERROR, …")
@click.option(
    "--parent",
    "parents",
    metavar="ID",
    multiple=True,
    help="The message that this one answers; may be repeated.",
)
@_which_bus
@click.argument("body", required=False)
def post(
    kind: str,
    parents: tuple[str, ...],
    task: str | None,
    task_dir: Path | None,
    project_bus: bool,
    project_dir: Path | None,
    body: str | None,
) -> None:
    """Post BODY, or standard input, and print the message's id."""
    if body is None or body == "-":
        if body is None and sys.stdin.isatty():
            message = "there is nothing to post"
            raise UsageError(message, hint='for example: ralph bus post --type FACT "all tests pass"')
        body = sys.stdin.buffer.read().decode(errors="surrogateescape").removesuffix("\n")
    if not is_text(body):
        message = "the body is not UTF-8 text"
        raise UsageError(message, hint="convert it, or post the name of a file")
    bus = _bus(task, task_dir, project_bus, project_dir)
    print(bus.post(kind, body, task=task or "", parents=parents))


@command.command("read")
@_which_messages
@_which_bus
def read(
    types: tuple[str, ...],
    since: str | None,
    as_json: bool,
    task: str | None,
    task_dir: Path | None,
    project_bus: bool,
    project_dir: Path | None,
) -> None:
    """Print the messages, oldest first."""
    selection = _selection(types, since)
    bus = _bus(task, task_dir, project_bus, project_dir)
    if (task is not None or task_dir is not None) and not bus.path.parent.is_dir():
        message = f"there is no task folder {bus.path.parent}"
        raise UsageError(message, hint="`ralph supervise --task ID` makes one; is the name right?")
    if not bus.path.exists():
        print(f"ralph: nothing was posted to {bus.path} yet", file=sys.stderr)
    reading = bus.read()
    _require_known(selection, reading, bus)
    _Page(bus, as_json=as_json).show(reading, selection.of(reading.messages))


@command.command("tail")
@_which_messages
@click.option(
    "-n",
    "number",
    metavar="N",
    type=click.IntRange(0),
    help=f"Begin with the last N.  [default: {SHOWN_BY_TAIL}]",
)
@_which_bus
def tail(
    types: tuple[str, ...],
    since: str | None,
    as_json: bool,
    number: int | None,
    task: str | None,
    task_dir: Path | None,
    project_bus: bool,
    project_dir: Path | None,
) -> None:
    """Print the last messages, then each new one as it comes, until Ctrl-C."""
    selection = _selection(types, since)
    bus = _bus(task, task_dir, project_bus, project_dir)
    page = _Page(bus, as_json=as_json)
    if not bus.path.exists():  # a task can be watched before it begins
        print(f"ralph: there is no {bus.path} yet; waiting for it", file=sys.stderr)
    last = SHOWN_BY_TAIL if number is None and since is None else number
    try:
        for look, reading in enumerate(bus.follow()):
            chosen = [message for message in reading.messages if selection.takes(message)]
            if look == 0:
                _require_known(selection, reading, bus)
                chosen = selection.of(reading.messages)
                if last is not None:
                    chosen = chosen[len(chosen) - min(last, len(chosen)) :]
            page.show(reading, chosen)
    except KeyboardInterrupt:
        return


def _bus(task: str | None, task_dir: Path | None, of_project: bool, project_dir: Path | None) -> Bus:
    from ralph.operations.bus import bus_in, own_bus, project_bus, task_bus

    if (task is not None) + (task_dir is not None) + of_project > 1:
        message = "only one of --task, --task-dir and --project-bus can be given"
        raise UsageError(message, hint="leave the others out")
    if task_dir is not None:
        return bus_in(task_dir)
    if task is not None:
        return task_bus(state_folder(project_dir), task)
    if project_dir is not None:  # not the project that an agent's environment names
        return project_bus(state_folder(project_dir))
    return own_bus(lambda: state_folder(None), of_project=of_project)


def _selection(types: tuple[str, ...], since: str | None) -> Selection:
    from ralph.domain.supervision.message import Selection, is_message_id, moment

    wanted = frozenset(name.upper() for name in types)
    if since is None:
        return Selection(wanted)
    if is_message_id(since):
        return Selection(wanted, after_id=since)
    at = moment(since, now=time.time())
    if at is None:
        message = f"--since {since!r} is neither a time nor the id of a message"
        raise UsageError(
            message, hint="for example 10m, 2h, 2026-11-15T14:00, or an id that `ralph bus read` shows"
        )
    return Selection(wanted, since=at)


def _require_known(selection: Selection, reading: BusReading, bus: Bus) -> None:
    if selection.after_id and all(message.id != selection.after_id for message in reading.messages):
        message = f"there is no message {selection.after_id} on {bus.path}"
        raise UsageError(message, hint="`ralph bus read` shows the messages")


class _Page:
    """Prints messages, and each problem once."""

    def __init__(self, bus: Bus, *, as_json: bool) -> None:
        self._path = bus.path
        self._render = _json if as_json else _text
        self._reported: set[tuple[int, str]] = set()

    def show(self, reading: BusReading, messages: list[BusMessage]) -> None:
        torn = (reading.torn_tail,) if reading.torn_tail is not None else ()
        for problem in (*reading.problems, *torn):
            if (problem.offset, problem.text) not in self._reported:
                self._reported.add((problem.offset, problem.text))
                print(f"ralph: {self._path}, byte {problem.offset}: {problem.text}", file=sys.stderr)
        for message in messages:
            print(self._render(message))
        sys.stdout.flush()


def _text(message: BusMessage) -> str:
    from ralph.domain.text.safe_text import clean, clean_line

    about = [f"{name} {value}" for name, value in (("task", message.task), ("run", message.run)) if value]
    lines = [clean_line("  ".join([_iso(message.time), message.type, *about, message.id]))]
    if message.parents:
        lines.append(clean_line(f"  answers {', '.join(message.parents)}"))
    lines += [f"  {line}" for line in clean(message.body).split("\n")]
    return "\n".join(lines)


def _json(message: BusMessage) -> str:
    import json

    return json.dumps(
        {
            "id": message.id,
            "time": _iso(message.time),
            "type": message.type,
            "project": message.project,
            "task": message.task,
            "run": message.run,
            "parents": message.parents,
            "body": message.body,
        }
    )


def _iso(at: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
