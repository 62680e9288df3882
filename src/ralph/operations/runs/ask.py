"""Ask a run in another process to stop, pause or continue, or give it a note for its next prompt."""

from __future__ import annotations

import time
from contextlib import closing
from enum import StrEnum
from pathlib import Path

from ralph.adapters.storage.controls import Controls, cancel_ended_run
from ralph.adapters.storage.database import open_database
from ralph.domain.loop.asks import Ask
from ralph.domain.text.safe_text import is_text
from ralph.domain.views.runs import RunState, RunView
from ralph.errors import UsageError
from ralph.operations.runs.read import open_record

LOOK_EVERY = 0.05


class Answer(StrEnum):
    ASKED = "asked"  #: recorded for the run's process, which looks every moment
    HEARD = "heard"  #: the run's process has taken the request
    CANCELLED = "cancelled"  #: the run had ended and was waiting; now it is cancelled


def ask(
    state_folder: Path, run_id: str, request: Ask, *, text: str = "", wait_seconds: float = 0.0
) -> Answer:
    """``wait_seconds``: how long to wait for the run to hear it.

    Raises UsageError if the run is not under way, or the text is empty or not UTF-8.
    """
    if request is Ask.STEER and not text.strip():
        message = "the text is empty"
        raise UsageError(message, hint="say what the agent should know")
    if "\0" in text or not is_text(text):
        message = "the text is not UTF-8"
        raise UsageError(message, hint="write it in a UTF-8 terminal, as plain text")
    run = _run(state_folder, run_id)
    is_over = not run.live
    cancels = is_over and run.state is RunState.WAITING and request in (Ask.STOP, Ask.STOP_NOW)
    if is_over and not cancels:
        message = f"run {run_id} is not under way ({run.state.words})"
        raise UsageError(message, hint="`ralph status` shows all runs")
    path = state_folder / "ralph.db"
    with closing(open_database(path)) as database:
        if cancels:  # it has no process that could be asked
            cancel_ended_run(database, path, run_id, at=time.time())
            return Answer.CANCELLED
        controls = Controls(database, path, run_id)
        number = controls.ask(request, at=time.time(), text=text)
        deadline = time.monotonic() + wait_seconds
        while time.monotonic() < deadline:
            if controls.was_heard(number):
                return Answer.HEARD
            time.sleep(LOOK_EVERY)
    return Answer.ASKED


def _run(state_folder: Path, run_id: str) -> RunView:
    record = open_record(state_folder)
    if record is not None:
        with record:
            if (run := record.run(run_id)) is not None:
                return run
    message = "there is no such run here any more"
    raise UsageError(message, hint="`ralph status` shows the runs")
