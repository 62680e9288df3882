"""Stop in a session that has a loop of its own: continue until the promise is given or the iterations are used up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ralph.domain.promise.session_loop import belongs_to, next_turn
from ralph.interfaces.hooks.answers import block, say
from ralph.interfaces.hooks.loop_files import loop_file, read_loop, remove_loop, write_loop
from ralph.interfaces.hooks.transcript_tail import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph.interfaces.hooks.answers import Answer
    from ralph.interfaces.hooks.event import HookEvent


def loop_answer(
    event: HookEvent, *, blocks: int, cap: int, count: Callable[[HookEvent], None]
) -> Answer | None:
    path = loop_file(event)
    state = read_loop(path) if path is not None else None
    if path is None or state is None or not belongs_to(state, event.session):
        return None
    turn = next_turn(state, last_words(event), blocks=blocks, cap=cap)
    if turn.state is None:
        remove_loop(path)
    elif turn.state != state:
        write_loop(path, turn.state)
    if not turn.prompt:
        return say(turn.told)
    count(event)
    return block(turn.prompt)


def last_words(event: HookEvent) -> str:
    """What the assistant said last; older versions of Claude Code leave it to the transcript."""
    if "last_assistant_message" in event.fields:
        return event.text("last_assistant_message")
    for line in Transcript(event.text("transcript_path")).newest_lines():
        if said := _assistant_text(line):
            return said
    return ""


def _assistant_text(line: bytes) -> str:
    try:
        entry = json.loads(line) if b'"assistant"' in line else None
    except (ValueError, RecursionError):
        return ""
    if not isinstance(entry, dict) or entry.get("type") != "assistant" or entry.get("isSidechain") is True:
        return ""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
