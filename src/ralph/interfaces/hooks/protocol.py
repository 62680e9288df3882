"""What Claude Code sends a hook on stdin, and what a hook may answer on stdout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

LARGEST_EVENT = 64_000_000
Answer = dict[str, object]


class UnreadableEvent(ValueError):
    """Not what Claude Code sends."""


class HookEvent:
    """One event. Foreign data: a field that is missing or has another type reads as empty."""

    def __init__(self, fields: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self.fields = fields
        self.environ = environ

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    @property
    def session(self) -> str:
        return self.text("session_id")

    @property
    def starts(self) -> list[str]:
        """Where to look for the project: where the session began, then where it is now."""
        named = (self.environ.get("CLAUDE_PROJECT_DIR", ""), self.text("cwd"))
        return [place for place in dict.fromkeys(named) if place.startswith("/") and "\0" not in place]


def read_event(stream: BinaryIO, environ: Mapping[str, str]) -> HookEvent:
    data = stream.read(LARGEST_EVENT + 1)
    if len(data) > LARGEST_EVENT:
        message = f"the event is larger than {LARGEST_EVENT // 1_000_000} MB"
        raise UnreadableEvent(message)
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        message = "the event is not JSON"
        raise UnreadableEvent(message) from error
    if not isinstance(fields, dict):
        message = "the event is not a JSON object"
        raise UnreadableEvent(message)
    return HookEvent(fields, environ)


def block(reason: str) -> Answer:
    """Stop: continue the session with the reason as its next prompt. UserPromptSubmit: do not send the prompt."""
    return {"decision": "block", "reason": reason}


def deny(reason: str) -> Answer:
    """PreToolUse: do not run the tool, and tell the model why. Holds even when permissions are skipped."""
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def add_context(event: str, text: str) -> Answer:
    """Give the model this text as well."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def say(text: str) -> Answer:
    """Tell the user; the model does not see it."""
    return {"systemMessage": text}
