"""Small states as JSON files, of a project or of a user. A file that cannot be read is kept aside, never lost.

``ralph-loop.json`` is one of them: the state of a loop that a program drives, or of a run of profile ``promise``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from time import gmtime, strftime
from typing import Generic, TypeVar

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_state_folder
from ralph.adapters.storage.places import STATE_FOLDER, local_folder
from ralph.domain.loop.events import IterationStarted, LoopEvent, RunEnded
from ralph.domain.promise.loop_state import (
    RALPH_LOOP_STATE_FILE,
    RalphLoopState,
    state_from_document,
    state_to_document,
)
from ralph.domain.promise.session_loop import session_of
from ralph.domain.text.strict_json import parse_json
from ralph.errors import UsageError
from ralph.values import dataclass

T = TypeVar("T")

Decode = Callable[[object], tuple[T | None, Sequence[str]]]
"""Data → the state, or None and what is wrong with the data. Never raises."""

MOST_BYTES = 10_000_000
RUN_KEY = "runId"
"""An extra key of the loop's state file: which run it shows."""


class StateLocation(StrEnum):
    """``local``: the project's ``.ralph/state``. ``global``: the user's, for all projects."""

    LOCAL = "local"
    GLOBAL = "global"


def global_folder(environ: Mapping[str, str]) -> Path:
    """``$XDG_STATE_HOME/ralph``, else ``~/.ralph/state``."""
    configured = environ.get("XDG_STATE_HOME", "")
    # By the specification a relative path is invalid and must be ignored.
    if configured and Path(configured).is_absolute():
        return Path(configured) / "ralph"
    try:
        return Path.home() / STATE_FOLDER / "state"
    except RuntimeError as error:
        message = "no home directory is known, so there is no place for global state"
        raise UsageError(message, hint="set HOME or XDG_STATE_HOME") from error


class StateFile(Generic[T]):
    """``<folder>/<name>.json``. ``report`` gets a message about everything that could not be read or written."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        decode: Decode[T],
        encode: Callable[[T], Mapping[str, object]],
        report: Callable[[str], None],
        now: Callable[[], float],
    ) -> None:
        if not name or name.startswith(".") or "/" in name or "\0" in name:
            message = f"{name!r} cannot be the name of a state"
            raise UsageError(message, hint="use a plain name such as 'ralph-loop'")
        # The project's .ralph may be a link of the user's; one that an agent puts there later is not followed.
        self.path = Path(os.path.realpath(folder.parent), folder.name, f"{name}.json")
        self._decode = decode
        self._encode = encode
        self._report = report
        self._now = now

    def read(self) -> T | None:
        """None if there is no file. A damaged one, or one of another kind, is moved aside and reported."""
        try:
            return self._read()
        except OSError as error:
            self._report(f"cannot read {self.path}: {error.strerror or error}")
            return None

    def write(self, state: T) -> bool:
        """Replace the whole file, or leave it as it was. A damaged one is moved aside first."""
        content = json.dumps(self._encode(state), indent=2, allow_nan=False) + "\n"
        try:
            self._read()
            self._make_folder()
            beneath.write_atomic(self.path, content)
        except OSError as error:
            self._report(f"cannot write {self.path}: {error.strerror or error}")
            return False
        return True

    def clear(self) -> bool:
        """True: the file does not exist now."""
        try:
            beneath.remove(self.path)
        except NotADirectoryError:  # part of its path is a file, so it does not exist
            return True
        except OSError as error:
            self._report(f"cannot remove {self.path}: {error.strerror or error}")
            return False
        return True

    def _read(self) -> T | None:
        try:
            data = beneath.read_plain(self.path, MOST_BYTES)
        except FileNotFoundError:
            return None
        try:
            document = parse_json(data.decode()).value
        except ValueError as error:
            self._keep_aside(f"not JSON: {error}")
            return None
        state, problems = self._decode(document)
        if state is None:
            self._keep_aside("; ".join(problems) or "unknown contents")
        return state

    def _keep_aside(self, why: str) -> None:
        time = strftime("%Y%m%dT%H%M%SZ", gmtime(self._now()))
        aside = self.path.with_name(f"{self.path.name}.corrupt-{time}")
        number = 1
        while beneath.status(aside) is not None:  # twice within a second
            number += 1
            aside = self.path.with_name(f"{self.path.name}.corrupt-{time}-{number}")
        try:
            trees.move(self.path, aside)
        except FileNotFoundError:  # another process was faster, and reports it
            return
        self._report(
            f"{self.path} is damaged or of another version ({why}); it was kept as {aside.name}, "
            "and the state counts as absent"
        )

    def _make_folder(self) -> None:
        folder = self.path.parent
        if folder.parent.name == STATE_FOLDER and not beneath.read_link(folder.parent):
            make_state_folder(folder.parent)
        beneath.make_folder(folder)


def loop_state_file(
    workspace: Path, *, report: Callable[[str], None], now: Callable[[], float]
) -> StateFile[RalphLoopState]:
    """Of the workspace, not of the main checkout: each git worktree has a loop of its own."""
    folder, decode, encode = local_folder(workspace), state_from_document, state_to_document
    return StateFile(folder, RALPH_LOOP_STATE_FILE, decode=decode, encode=encode, report=report, now=now)


def iso_time(seconds: float) -> str:
    """UTC, with milliseconds and a Z, as JavaScript programs write it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class LoopStateListener:
    """Shows a run in the state file: written before each launch, removed when the run ends, left by a killed run.

    The state of a session's loop, or of another run, is never touched.
    """

    file: StateFile[RalphLoopState]
    run_id: str
    task: str
    promise: str
    started_at: float

    def __call__(self, event: LoopEvent, at: float) -> None:
        match event:
            case IterationStarted(iteration=iteration, maximum=maximum) if not self._is_of_a_session():
                state = RalphLoopState(
                    active=True,
                    iteration=iteration,
                    max_iterations=maximum or 0,  # 0: no limit
                    completion_promise=self.promise,
                    started_at=iso_time(self.started_at),
                    prompt=self.task,
                    extra={RUN_KEY: self.run_id},
                )
                self.file.write(state)
            case RunEnded() if self._shown_run() == self.run_id:
                self.file.clear()
            case _:
                pass

    def _is_of_a_session(self) -> bool:
        state = self.file.read()
        return state is not None and bool(session_of(state))

    def _shown_run(self) -> object:
        state = self.file.read()
        return None if state is None else state.extra.get(RUN_KEY)
