"""What an error of an ACP agent is about, wherever it puts that: code, message, data, or its own voice."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Raw

from ralph.adapters.agents.acp.messages import AUTH_REQUIRED, RpcError, read
from ralph.adapters.agents.excerpts import one_line
from ralph.adapters.agents.faults import MAX_REASON_CHARS
from ralph.domain.agent.events import ErrorReported

NOT_LOGGED_IN: Final = "auth_required"
TOO_LONG: Final = "too_long"

_MOST_DATA = 16_000
_STATUS = re.compile(r'"(?:status|statusCode|httpStatusCode|http_status|code)"\s*:\s*"?([45]\d\d)\b')
_SPOKEN_STATUS = re.compile(
    r"(?:\bstatus(?: code)?:? |\bAPI Error:? |\bHTTP |^|: )([45]\d\d)\b(?!\.)", re.IGNORECASE
)
_LIMIT = re.compile(
    r"\b(?:rate|usage)[ _-]?limit|usageLimitExceeded|\btoo many requests\b|\bresource[ _](?:has been )?exhausted\b"
    r"|\bquota\b|\bhit your (?:\S+ )?limit\b",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\bnot logged in\b|\bplease run /login\b|\bunauthorized\b|\bauthentication (?:is )?(?:required|failed)\b"
    r"|\b(?:invalid|missing) api key\b|\bapi key (?:not valid|expired|not found|is missing)\b|\bfailed to authenticate\b",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"\bcontext[ _](?:window|length|limit)|contextWindowExceeded|\bprompt is too long\b|\bmaximum number of tokens\b",
    re.IGNORECASE,
)
_VOICED = re.compile(
    r"\[?API Error\b|unexpected status [45]\d\d\b|stream (?:error|disconnected)\b|exceeded retry limit\b"
    r"|(?:You've|You have) (?:hit|reached) your (?:\S+ )?limit\b|Claude (?:AI )?usage limit reached\b|Invalid API key\b"
    r"|Please run /login\b|Failed to authenticate\b|Credit balance is too low\b|Rate limit exceeded\b",
    re.IGNORECASE,
)
_LONGEST_VOICED = 1_000
_SAYS_NOTHING: Final = "Internal error"


def error_in(error: Raw) -> ErrorReported:
    """What the ``error`` of a JSON-RPC response says."""
    told: RpcError = read(error, RpcError) or RpcError(message="an error that cannot be read")
    data = bytes(told.data)[:_MOST_DATA].decode(errors="replace")
    return _judge(_message(told, data), data, told.code)


def voiced_error(text: str) -> ErrorReported | None:
    """An error that an agent says as if it were its answer, as the adapters of claude and codex do.

    It must be all that was said in a turn without any tool: one short paragraph that begins like an error of a model's
    service, and holds no tag. Whoever works, and writes about errors, has done or said something else too.
    """
    said = text.strip()
    if len(said) > _LONGEST_VOICED or "\n\n" in said or "</" in said or not _VOICED.match(said):
        return None
    return _judge(one_line(said, MAX_REASON_CHARS), "", 0)


def _judge(message: str, data: str, code: int) -> ErrorReported:
    words = f"{message}\n{data}"
    status = _status(message, data, code)
    if status is None and _LIMIT.search(words):
        status = 429
    if _CONTEXT.search(words):
        return ErrorReported(message, status, TOO_LONG, True)
    if status is None and (code == AUTH_REQUIRED or _LOGIN.search(words)):
        return ErrorReported(message, 401, NOT_LOGGED_IN, True)
    return ErrorReported(message, status, str(code) if code else "", True)


def _status(message: str, data: str, code: int) -> int | None:
    """gemini's code is the HTTP status itself."""
    if 400 <= code <= 599:
        return code
    found = _STATUS.search(data) or _SPOKEN_STATUS.search(message) or _SPOKEN_STATUS.search(data)
    return int(found[1]) if found else None


def _message(error: RpcError, data: str) -> str:
    """The details are in the data, under one of these names or as it is."""
    details = read(error.data, str)
    if details is None:
        fields: dict[str, object] = read(error.data, dict[str, object]) or {}
        found = (fields.get(name) for name in ("details", "message", "error", "reason", "codexErrorInfo"))
        details = next((value for value in found if isinstance(value, str) and value), "")
    said = "" if details and error.message in (_SAYS_NOTHING, details) else error.message
    return one_line(
        ": ".join(part for part in (said, details) if part) or data or "unknown error", MAX_REASON_CHARS
    )
