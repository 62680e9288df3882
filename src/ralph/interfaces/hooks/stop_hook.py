"""Stop: the plan's checks in a session of ``ralph plan run``, then the promise loop in a session that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.interfaces.hooks.answers import block, say
from ralph.interfaces.hooks.places import nearest_with
from ralph.interfaces.hooks.session_files import BLOCKS, locked_numbers, session_file

if TYPE_CHECKING:
    from ralph.interfaces.hooks.answers import Answer
    from ralph.interfaces.hooks.event import HookEvent

MARKER = ".ralph-active"  # as in domain/active_marker, which is not imported for a mere look
CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
DEFAULT_CAP = 8
"""Claude Code overrides the block after so many in a row without a tool call, and the answer is lost with it."""


def check_stop(event: HookEvent) -> Answer | None:
    """The usual session has neither marker nor loop: then nothing more is even imported."""
    if any(nearest_with(start, MARKER) for start in event.starts):
        from ralph.interfaces.hooks.plan_stop import plan_verdict

        verdict = plan_verdict(event)
        if verdict.reasons:
            return _refused(event, verdict.text)
        if verdict.warning:
            return say(verdict.warning)
    from ralph.interfaces.hooks.loop_files import loop_file

    if loop_file(event) is None:
        return None
    from ralph.interfaces.hooks.loop_stop import loop_answer

    return loop_answer(event, blocks=blocks_before(event), cap=block_cap(event), count=count_block)


def _refused(event: HookEvent, reason: str) -> Answer:
    """After the last block that Claude Code respects the session may stop: the engine is the judge anyway."""
    blocks, cap = blocks_before(event), block_cap(event)
    if blocks >= cap:
        return say(
            f"ralph: the stop was refused {blocks} times in a row and is allowed now, although: {reason}"
        )
    count_block(event)
    return block(reason)


def block_cap(event: HookEvent) -> int:
    given = event.environ.get(CAP_VARIABLE, "")
    return (
        int(given)
        if given.isascii() and given.isdigit() and 0 < len(given) < 10 and int(given)
        else DEFAULT_CAP
    )


def blocks_before(event: HookEvent) -> int:
    """How many stops in a row were refused already, without a tool call between them."""
    path = session_file(BLOCKS, event.session, event.environ)
    if not path or event.fields.get("stop_hook_active") is not True:
        return 0
    with locked_numbers(path) as numbers:
        return sum(numbers)


def count_block(event: HookEvent) -> None:
    path = session_file(BLOCKS, event.session, event.environ)
    if not path:
        return
    with locked_numbers(path) as numbers:
        before = sum(numbers) if event.fields.get("stop_hook_active") is True else 0
        numbers[:] = [before + 1]
