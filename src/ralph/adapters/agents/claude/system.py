"""What claude says about itself: sessions, retries, limits, hooks, background tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ralph.adapters.agents.claude.lines import LimitInfo, RetryData, SystemLine, decode_retry
from ralph.adapters.agents.excerpts import one_line
from ralph.adapters.agents.json_lines import UNREADABLE
from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    LimitReported,
    Notice,
    SessionStarted,
    Unknown,
)

_NOTHING: Final[tuple[AgentEvent, ...]] = ()


def limit_events(info: LimitInfo) -> Sequence[AgentEvent]:
    rejected = info.status == "rejected" and not info.isUsingOverage
    return (LimitReported(rejected, info.rateLimitType or "", info.resetsAt),)


def system_events(event: SystemLine) -> Sequence[AgentEvent]:
    match event.subtype:
        case "init":
            return (SessionStarted(event.session_id or "", event.model or ""),)
        case "api_retry":
            message = _retry(event.attempt, event.max_retries, event.retry_delay_ms)
            return (ErrorReported(message, event.error_status, event.error or "", False),)
        case "retry":
            try:
                retry = decode_retry(event.data)
            except UNREADABLE:
                retry = RetryData()
            message = _retry(retry.attempt, retry.max_retries, retry.delay_ms)
            return (ErrorReported(message, None, "", False),)
        case "permission_denied":
            text = f"{event.tool_name or 'a tool'} was not permitted: {event.message or 'no reason given'}"
        case "hook_response":
            if event.outcome == "success":
                return _NOTHING
            failed = f", exit status {event.exit_code}" if event.exit_code else ""
            text = f"hook {event.hook_name or ''}: {event.outcome or 'ended'}{failed}"
        case "informational" | "notification" | "model_fallback":
            text = event.content or event.text or event.message or event.subtype
        case "task_started":
            text = f"background task started: {event.description or ''}"
        case "task_notification":
            text = f"background task {event.status or 'ended'}: {event.summary or ''}"
        case "compact_boundary":
            text = "the context was compacted"
        case (
            "hook_started" | "hook_progress" | "status" | "thinking_tokens" | "task_progress" | "task_updated"
        ):
            return _NOTHING
        case _:
            return (Unknown(f"system/{event.subtype}"),)
    return (Notice(one_line(text)),)


def _retry(attempt: int | None, most: int | None, delay_ms: float | None) -> str:
    of = f"/{most}" if most else ""
    return f"model API failed, retry {attempt or '?'}{of} in {(delay_ms or 0) / 1000:.1f} s"
