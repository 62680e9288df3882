"""Stop: the plan's checks in a session of ``ralph plan run``, then the promise loop in a session that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.interfaces.hooks.places import MARKER, nearest_with
from ralph.interfaces.hooks.protocol import block, say
from ralph.interfaces.hooks.session_files import BLOCKS, locked_numbers, session_file

if TYPE_CHECKING:
    from ralph.interfaces.hooks.protocol import Answer, HookEvent

CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
DEFAULT_CAP = 8
"""Claude Code overrides the block after so many in a row without a tool call, and the answer is lost with it."""


def check_stop(event: HookEvent) -> Answer | None:
    """Most sessions have neither marker nor loop: for them, import nothing more."""
    if any(nearest_with(start, MARKER, event.environ) for start in event.starts):
        from ralph.interfaces.hooks.plan_stop import plan_verdict

        verdict = plan_verdict(event)
        if verdict.reasons:
            return _refuse(event, verdict.text)
        if verdict.warning:
            return say(verdict.warning)
    from ralph.interfaces.hooks.loop_files import loop_file

    path = loop_file(event)
    return _continue_loop(event, path) if path is not None else None


def _refuse(event: HookEvent, reason: str) -> Answer:
    """Until Claude Code would override it: then the session may stop, and the engine judges anyway."""
    blocks = blocks_before(event)
    if blocks >= block_cap(event):
        return say(
            f"ralph: the stop was refused {blocks} times in a row and is allowed now, although: {reason}"
        )
    count_block(event)
    return block(reason)


def _continue_loop(event: HookEvent, path: str) -> Answer | None:
    """Until the agent gives the promise or the iterations are used up."""
    import os

    from ralph.domain.promise.session_loop import belongs_to, in_process, next_turn
    from ralph.interfaces.hooks.holders import session_process
    from ralph.interfaces.hooks.loop_files import read_loop, write_loop
    from ralph.interfaces.hooks.transcript import last_words

    state = read_loop(path)
    if state is None or not belongs_to(state, event.session):
        return None
    turn = next_turn(state, last_words(event), blocks=blocks_before(event), cap=block_cap(event))
    if turn.state is None:
        os.unlink(path)  # noqa: PTH108
    elif turn.state != state:
        write_loop(path, in_process(turn.state, session_process()))
    if not turn.prompt:
        return say(turn.message)
    count_block(event)
    return block(turn.prompt)


def block_cap(event: HookEvent) -> int:
    given = event.environ.get(CAP_VARIABLE, "")
    is_number = given.isascii() and given.isdigit() and len(given) < 10
    return (int(given) if is_number else 0) or DEFAULT_CAP


def blocks_before(event: HookEvent) -> int:
    """How many stops in a row were refused already, without a tool call between them."""
    path = session_file(BLOCKS, event.session, event.environ)
    if not path or event.fields.get("stop_hook_active") is not True:
        return 0
    with locked_numbers(path) as numbers:
        return sum(numbers)


def count_block(event: HookEvent) -> None:
    if path := session_file(BLOCKS, event.session, event.environ):
        with locked_numbers(path) as numbers:
            before = sum(numbers) if event.fields.get("stop_hook_active") is True else 0
            numbers[:] = [before + 1]
