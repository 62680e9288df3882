"""What a hook may answer: the JSON that Claude Code understands on stdout."""

from __future__ import annotations

Answer = dict[str, object]


def block(reason: str, *, told: str = "") -> Answer:
    """Stop: the session continues, with the reason as its next prompt. UserPromptSubmit: the prompt is not sent."""
    answer: Answer = {"decision": "block", "reason": reason}
    return answer | say(told) if told else answer


def deny(reason: str) -> Answer:
    """PreToolUse: the tool does not run, and the model reads why. Holds with permissions skipped, too."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


def add_context(event: str, text: str) -> Answer:
    """The model reads the text besides what it already has."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def say(text: str) -> Answer:
    """For the user's eyes only."""
    return {"systemMessage": text}
