"""What claude says about itself: sessions, retries, limits, hooks, background tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeGuard

from ralph.adapters.agents.claude.lines import LimitInfo, RetryData, SystemLine, decode_retry
from ralph.adapters.agents.excerpts import one_line
from ralph.adapters.agents.json_lines import UNREADABLE
from ralph.domain.agent.events import (
    AgentEvent,
    BackgroundChanged,
    ErrorReported,
    LimitReported,
    Notice,
    SessionStarted,
    Unknown,
)
from ralph.domain.agent.quota import Window

_NOTHING: Final[tuple[AgentEvent, ...]] = ()


_WINDOWS: Final[Mapping[str, str]] = {
    "five_hour": "5h",
    "seven_day": "week",
    "seven_day_opus": "week",
    "seven_day_sonnet": "week",
}
_LARGEST: Final = 1e15
MAX_TASKS: Final = 100

_PASSED_OVER: Final = frozenset(
    (
        "agents_killed",
        "api_error",
        "away_summary",
        "background_tasks_changed",
        "bridge_state",
        "bridge_status",
        "checkpoint_done",
        "cloud_session_delta",
        "cloud_session_status",
        "code_change_published",
        "commands_changed",
        "control_request_progress",
        "dev_intent",
        "elicitation_complete",
        "feedback_draft_queued",
        "file_attachments_missing",
        "file_snapshot",
        "inherited_asks_settled",
        "instruction_size_warning",
        "local_command",
        "memory_recall",
        "memory_saved",
        "mirror_error",
        "peer_message_hold",
        "per_turn_effort_changed",
        "permission_check_status",
        "permission_retry",
        "placed",
        "plugin_install",
        "post_turn_summary",
        "rewind_stand_in",
        "scheduled_task_fire",
        "session_metadata",
        "session_state_changed",
        "session_title_changed",
        "session_writes_lost",
        "start_folder",
        "stop_hook_summary",
        "task_summary",
        "tool_host_result",
        "turn_began_before_init",
        "turn_duration",
        "turn_handoff_available",
        "turn_preempted",
        "turn_starting",
        "ui_focus",
        "ui_invalidate",
        "ui_log",
        "ui_notify",
        "ui_notify_cancel",
        "ui_panes",
        "ui_placed",
        "ui_scroll",
        "ui_status",
        "ui_toast",
        "vcs_state_changed",
        "voice_call_talk",
        "worker_shutting_down",
    )
)
"""What the tested version says to its own screen and its other selves."""


def limit_events(info: LimitInfo) -> Sequence[AgentEvent]:
    rejected = info.status == "rejected" and not info.isUsingOverage
    return (LimitReported(rejected, info.rateLimitType or "", info.resetsAt, _windows(info)),)


def _windows(info: LimitInfo) -> tuple[Window, ...]:
    """Every window that it names; of several for one span of time the one with the least left."""
    told = dict(info.unifiedWindows) if isinstance(info.unifiedWindows, dict) else {}
    if info.rateLimitType is not None:  # all that versions before 2.1.259 say
        told.setdefault(info.rateLimitType, {"utilization": info.utilization, "resetsAt": info.resetsAt})
    least: dict[str, Window] = {}
    for kind, window in told.items():
        used, reset = (
            (window.get("utilization"), window.get("resetsAt")) if isinstance(window, dict) else (None, None)
        )
        if kind not in _WINDOWS or not _is_number(used) or not _is_number(reset) or used < 0:
            continue
        name = _WINDOWS[kind]
        read = Window(name, max(0.0, round(100 - 100 * used, 1)), float(reset))
        if name not in least or read.left < least[name].left:
            least[name] = read
    return tuple(least.values())


def _is_number(value: object) -> TypeGuard[float]:
    """One to reckon with: an integer may be larger than any float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def system_events(event: SystemLine) -> Sequence[AgentEvent]:
    match event.subtype:
        case "init":
            version = event.claude_code_version or event.qwen_code_version or ""
            return (SessionStarted(event.session_id or "", event.model or "", version),)
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
        case (
            "informational"
            | "notification"
            | "model_fallback"
            | "model_consent_fallback"
            | "model_refusal_fallback"
            | "model_refusal_no_fallback"
        ):
            text = event.content or event.text or event.message or event.subtype
        case "task_started":
            text = f"background task started: {event.description or ''}"
        case "task_notification":
            text = f"background task {event.status or 'ended'}: {event.summary or ''}"
        case "background_tasks_changed":
            named = (one_line(task.description or task.task_id) for task in event.tasks[:MAX_TASKS])
            return (BackgroundChanged(tuple(named)),)
        case "compact_boundary":
            text = "the context was compacted"
        case (
            "hook_started" | "hook_progress" | "status" | "thinking_tokens" | "task_progress" | "task_updated"
        ):
            return _NOTHING
        case other if other in _PASSED_OVER:
            return _NOTHING
        case other:
            return (Unknown(f"system/{other}"),)
    return (Notice(one_line(text)),)


def _retry(attempt: int | None, most: int | None, delay_ms: float | None) -> str:
    of = f"/{most}" if most else ""
    return f"model API failed, retry {attempt or '?'}{of} in {(delay_ms or 0) / 1000:.1f} s"
