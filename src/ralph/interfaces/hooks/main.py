"""``ralph_hooks.py NAME``: run one hook, its event on stdin, its answer on stdout.

A bug in a hook must not stop anyone's work, so hooks fail open: exit code 1, which Claude Code only reports.
The guard fails closed: exit code 2 refuses the tool call.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from ralph.interfaces.hooks.protocol import read_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.interfaces.hooks.protocol import Answer, HookEvent

GUARD = "guard"
FAILED = 1
REFUSED = 2
MOST_SECONDS = 20
"""Claude Code runs the tool if its hook times out, so the guard ends itself well before that: that refuses the call."""


def main(arguments: Sequence[str]) -> int:
    name = arguments[0] if arguments else ""
    if name == GUARD:
        signal.alarm(MOST_SECONDS)
    try:
        answer = answer_of(name, read_event(sys.stdin.buffer, os.environ))
    except Exception as error:
        what = str(error) or type(error).__name__
        sys.stderr.write(f"ralph: the hook {name!r} failed: {what}\n")
        return REFUSED if name == GUARD else FAILED
    if answer is not None:
        sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def answer_of(name: str, event: HookEvent) -> Answer | None:
    """Import only the hook that was asked for."""
    if name == "context":
        from ralph.interfaces.hooks.context_hook import watch_context

        return watch_context(event)
    if name == GUARD:
        from ralph.interfaces.hooks.guard_hook import guard_tool

        return guard_tool(event)
    if name == "stop":
        from ralph.interfaces.hooks.stop_hook import check_stop

        return check_stop(event)
    if name == "prompt":
        from ralph.interfaces.hooks.prompt_hook import take_prompt

        return take_prompt(event)
    if name == "session":
        from ralph.interfaces.hooks.session_files import forget_session

        forget_session(event.session, event.environ)
        return None
    message = "there is no such hook"
    raise ValueError(message)
