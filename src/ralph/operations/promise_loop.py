"""The ``promise`` profile for programs that run the agent themselves: state in a file, one loop per workspace."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.clock import SystemClock
from ralph.adapters.storage.state_files import StateFile, iso_time, loop_state_file
from ralph.config.root import find_root
from ralph.domain.holder import Mode
from ralph.domain.promise.loop_state import (
    RALPH_LOOP_STATE_FILE,
    RalphLoopConfig,
    RalphLoopState,
    config_problem,
    new_state,
)
from ralph.errors import UsageError
from ralph.operations.modes import open_modes
from ralph.operations.states import Report, warn

MODE_DETAILS = {"mode": RALPH_LOOP_STATE_FILE}


def read_ralph_loop_state(*, root: Path | None = None, report: Report = warn) -> RalphLoopState | None:
    """The loop of this project; None if there is none. A damaged file is set aside and reported."""
    return _file(root, report).read()


def write_ralph_loop_state(state: RalphLoopState, *, root: Path | None = None, report: Report = warn) -> bool:
    return _file(root, report).write(state)


def clear_ralph_loop_state(*, root: Path | None = None, report: Report = warn) -> bool:
    """True if there is no state now."""
    return _file(root, report).clear()


def is_ralph_loop_active(*, root: Path | None = None, report: Report = warn) -> bool:
    """True also for a loop whose process died: it can be resumed."""
    state = read_ralph_loop_state(root=root, report=report)
    return state is not None and state.active


def start_ralph_loop(
    prompt: str, config: RalphLoopConfig | None = None, *, root: Path | None = None, report: Report = warn
) -> RalphLoopState | None:
    """A new loop at iteration 1. None if a mode is in the way (``can_start_mode`` names it) or nothing can be written."""
    config = config or RalphLoopConfig()
    if problem := config_problem(config):
        raise UsageError(problem, hint="leave it out for the default")
    state = new_state(prompt, config, started_at=iso_time(SystemClock().now()))
    # The mode first: if two start at once, the one turned away must not have written its state.
    with open_modes(root) as modes:
        if not modes.start(Mode.EXECUTING, MODE_DETAILS) or not modes.is_mine(Mode.EXECUTING):
            return None  # held by another process, perhaps by the run whose agent this is
        if not write_ralph_loop_state(state, root=root, report=report):
            modes.end(Mode.EXECUTING)
            return None
    return state


def end_ralph_loop(*, root: Path | None = None, report: Report = warn) -> bool:
    """Remove the state and end the mode. False if another process's loop is running: it is left alone.

    Any process may end the loop of one that died.
    """
    with open_modes(root) as modes:
        # Held while the state is removed: a new loop cannot lose its state to the end of an older one.
        if not modes.is_mine(Mode.EXECUTING):
            modes.start(Mode.EXECUTING, MODE_DETAILS)
            if not modes.is_mine(Mode.EXECUTING):
                return False
        cleared = clear_ralph_loop_state(root=root, report=report)
        modes.end(Mode.EXECUTING)
    return cleared


def _file(root: Path | None, report: Report) -> StateFile[RalphLoopState]:
    return loop_state_file(find_root(Path.cwd(), root).workspace, report=report, now=SystemClock().now)
