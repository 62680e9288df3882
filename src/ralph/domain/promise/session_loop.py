"""The promise loop in one session of Claude Code: ``/ralph:loop`` starts it, Stop continues it, ``/ralph:cancel`` ends it.

It belongs to the session that started it. States of ``ralph run`` name no session, so no hook touches them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ralph.domain.holder import Owner
from ralph.domain.promise.loop_state import (
    RalphLoopConfig,
    RalphLoopState,
    build_continuation_prompt,
    config_problem,
    detect_completion,
    increment_iteration,
    new_state,
)
from ralph.patterns import pattern
from ralph.values import dataclass, replace

SESSION_KEY = "sessionId"
PROCESS_KEY = "process"
"""Extra keys of the state file: the session, and the process that it runs in."""

LONGEST_TASK = 100_000

_COMMAND = pattern(r"\s*/ralph:(loop|cancel)(?:\s+(.*))?\s*", re.DOTALL)
_OPTION = pattern(
    r"""(?:^|(?<=\s))--(max-iterations|completion-promise)(?:=|\s+)(?:"([^"]*)"|'([^']*)'|(\S+))(?=\s|$)"""
)
_UNFINISHED_OPTION = pattern(r"(?:^|\s)--(max-iterations|completion-promise)(?=\s|=|$)")
_DIGITS = 9

USAGE = "/ralph:loop [--max-iterations N] [--completion-promise TEXT] TASK"


@dataclass(frozen=True, slots=True)
class LoopRequest:
    """The arguments of ``/ralph:loop``."""

    task: str
    config: RalphLoopConfig


def loop_command(prompt: str) -> tuple[str, str] | None:
    """``("loop", arguments)`` or ``("cancel", …)``; None if the prompt is neither."""
    found = _COMMAND.fullmatch(prompt)
    return (found[1], (found[2] or "").strip()) if found is not None else None


def loop_request(arguments: str) -> LoopRequest | str:
    """The request, or what is wrong with it. Options may be anywhere; the rest is the task, word for word."""
    values: dict[str, str] = {}
    for option in _OPTION.finditer(arguments):
        values[option[1]] = next(value for value in option.groups()[1:] if value is not None)
    task = _OPTION.sub("", arguments).strip()
    if unfinished := _UNFINISHED_OPTION.search(task):
        return f"--{unfinished[1]} needs a value: {USAGE}"
    if not task:
        return f"there is no task: {USAGE}"
    if len(task) > LONGEST_TASK:
        return f"the task is longer than {LONGEST_TASK:,} characters: put it into a file and give its name"
    maximum = values.get("max-iterations")
    if maximum is not None and not (maximum.isascii() and maximum.isdigit() and len(maximum) <= _DIGITS):
        return f"--max-iterations must be a whole number, not {maximum[:40]!r}"
    config = RalphLoopConfig(
        max_iterations=None if maximum is None else int(maximum),
        completion_promise=values.get("completion-promise"),
    )
    return config_problem(config) or LoopRequest(task, config)


Process = Mapping[str, object]


def started_loop(
    request: LoopRequest, *, session: str, started_at: str, process: Process | None = None
) -> RalphLoopState:
    state = new_state(request.task, request.config, started_at=started_at)
    return in_process(replace(state, extra={SESSION_KEY: session}), process)


def in_process(state: RalphLoopState, process: Process | None) -> RalphLoopState:
    """A session that is resumed goes on in another process. None: it is not known."""
    others = {key: value for key, value in state.extra.items() if key != PROCESS_KEY}
    return replace(state, extra=others if process is None else {**others, PROCESS_KEY: dict(process)})


def session_of(state: RalphLoopState) -> str:
    """Empty: it is not the loop of a session."""
    session = state.extra.get(SESSION_KEY)
    return session if isinstance(session, str) else ""


def owner_of(state: RalphLoopState) -> Owner | None:
    match state.extra.get(PROCESS_KEY):
        case {"pid": int(pid), "processStarted": str(started), "bootId": str(boot), "host": str(host)}:
            return Owner(pid, started, boot, host)
        case _:
            return None


def belongs_to(state: RalphLoopState, session: str) -> bool:
    return state.active and bool(session) and state.extra.get(SESSION_KEY) == session


def in_the_way(state: RalphLoopState | None, session: str, *, run: str | None = None) -> str:
    """Why no new loop can start here; empty if one can. The session's own loop simply starts again.

    ``run`` is the run of ``ralph`` that holds the project; empty: none does; None: that cannot be known, and only the
    state of a run tells.
    """
    if run:
        return f"a run of `ralph` is under way here ({run}): wait for it, or end it with `ralph stop`"
    if state is None or not state.active or belongs_to(state, session):
        return ""
    if SESSION_KEY not in state.extra:
        if run is not None:  # left by one that was killed
            return ""
        return "a run of `ralph` is under way here: wait for it, or end it with `ralph stop`"
    return (
        "another session has a loop here "
        f"({_progress(state)}): end it there, or with /ralph:cancel if that session has ended"
    )


def opening(state: RalphLoopState) -> str:
    """What the agent reads besides the user's prompt."""
    return (
        f"Ralph loop, iteration {_progress(state)}. Each time you stop, you will be asked to continue until the task is done. "
        f"When it is FULLY complete, and not before, output: <promise>{state.completion_promise}</promise>\n\n"
        f"Task:\n{state.prompt}"
    )


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """What happens to a loop when its session wants to stop.

    ``state`` None: it is over. ``prompt`` empty: the session may stop. ``message`` is for the user.
    """

    state: RalphLoopState | None
    prompt: str = ""
    message: str = ""


def next_turn(state: RalphLoopState, said: str, *, blocks: int, cap: int) -> LoopTurn:
    """``said``: the session's last words. ``blocks``: refused stops in a row without any work, at most ``cap``."""
    count = "1 iteration" if state.iteration == 1 else f"{state.iteration} iterations"
    if detect_completion(said, state.completion_promise):
        return LoopTurn(None, message=f"ralph loop: complete after {count} ({state.completion_promise}).")
    if state.iteration >= state.max_iterations:
        missing = f"<promise>{state.completion_promise}</promise>"
        return LoopTurn(None, message=f"ralph loop: ended after {count} without {missing}.")
    if blocks >= cap:
        reason = f"nothing was done in {blocks} answers in a row"
        return LoopTurn(
            state,
            message=f"ralph loop: paused at {_progress(state)}: {reason}. Say how to continue, or /ralph:cancel.",
        )
    following = increment_iteration(state)
    return LoopTurn(following, build_continuation_prompt(following))


def _progress(state: RalphLoopState) -> str:
    return f"{state.iteration}/{state.max_iterations}"
