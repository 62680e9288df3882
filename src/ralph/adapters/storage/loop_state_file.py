"""Seed 000's ``ralph-loop.json``: the state of a loop that a program steers, or of a run of profile ``promise``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from ralph.adapters.storage.state_files import StateFile, local_folder
from ralph.domain.loop.events import IterationStarted, LoopEvent, RunEnded
from ralph.domain.promise.loop_state import (
    RALPH_LOOP_STATE_FILE,
    RalphLoopState,
    state_from_document,
    state_to_document,
)


def loop_state_file(
    workspace: Path, *, report: Callable[[str], None], now: Callable[[], float]
) -> StateFile[RalphLoopState]:
    """Of the workspace, not of the main checkout: each git worktree has a loop of its own."""
    return StateFile(
        local_folder(workspace),
        RALPH_LOOP_STATE_FILE,
        decode=state_from_document,
        encode=state_to_document,
        report=report,
        now=now,
    )


def iso_time(seconds: float) -> str:
    """As other programs of the seed's kind write it: UTC, with milliseconds and a Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LoopStateListener:
    """Shows a run in the state file: written before each launch, removed at the run's end, left by a killed run."""

    def __init__(
        self, file: StateFile[RalphLoopState], *, task: str, promise: str, started_at: float
    ) -> None:
        self._file = file
        self._task = task
        self._promise = promise
        self._started_at = iso_time(started_at)

    def __call__(self, event: LoopEvent, at: float) -> None:
        match event:
            case IterationStarted(iteration=iteration, maximum=maximum):
                state = RalphLoopState(
                    active=True,
                    iteration=iteration,
                    max_iterations=maximum or 0,  # 0: no limit
                    completion_promise=self._promise,
                    started_at=self._started_at,
                    prompt=self._task,
                )
                self._file.write(state)
            case RunEnded():
                self._file.clear()
            case _:
                pass
