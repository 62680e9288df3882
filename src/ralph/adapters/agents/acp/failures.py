"""What an error of an ACP agent says, wherever it puts that: code, message, data, or its own voice.

What that means is for ``faults``: only a missing login, which has no status here, is known by its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Raw

from ralph.adapters.agents.acp.messages import AUTH_REQUIRED, RpcError, read
from ralph.adapters.agents.excerpts import one_line
from ralph.adapters.agents.faults import MAX_REASON_CHARS
from ralph.domain.agent.events import ErrorReported
from ralph.patterns import pattern

NOT_LOGGED_IN: Final = "auth_required"

_MOST_DATA = 16_000
_STATUS = pattern(r'"(?:status|statusCode|httpStatusCode|http_status|code)"\s*:\s*"?([45]\d\d)\b')
_SPOKEN_STATUS = pattern(
    r"(?:\bstatus(?: code)?:? |\bAPI Error:? |\bHTTP |^|: )([45]\d\d)\b(?!\.)", re.IGNORECASE
)
_LOGIN = pattern(
    r"\bnot logged in\b|\bplease run /login\b|\bauthentication (?:is )?(?:required|failed)\b"
    r"|\b(?:invalid|missing) api key\b|\bapi key (?:not valid|expired|not found|is missing)\b|\bfailed to authenticate\b",
    re.IGNORECASE,
)
_VOICED = pattern(
    r"\[?API Error\b|unexpected status [45]\d\d\b|stream (?:error|disconnected)\b|exceeded retry limit\b"
    r"|(?:You've|You have) (?:hit|reached) your (?:\S+ )?limit\b|Claude (?:AI )?usage limit reached\b|Invalid API key\b"
    r"|Please run /login\b|Failed to authenticate\b|Credit balance is too low\b|Rate limit exceeded\b",
    re.IGNORECASE,
)
_LONGEST_VOICED = 1_000
_DETAILS: Final = ("details", "message", "error", "reason", "codexErrorInfo")
_CODES: Final = ("codexErrorInfo", "code", "type")
_SAYS_NOTHING: Final = "Internal error"


def error_in(error: Raw) -> ErrorReported:
    """What the ``error`` of a JSON-RPC response says."""
    told: RpcError = read(error, RpcError) or RpcError(message="an error that cannot be read")
    data = bytes(told.data)[:_MOST_DATA].decode(errors="replace")
    fields = _fields(told.data)
    message = _message(told, fields, data)
    found = _STATUS.search(data)
    # gemini's code is the HTTP status itself.
    status = told.code if 400 <= told.code <= 599 else int(found[1]) if found else None
    return _reported(message, status, _text_in(fields, _CODES), told.code)


def voiced_error(text: str) -> ErrorReported | None:
    """An error that an agent says as if it were its answer, as the adapters of claude and codex do.

    It must be all that was said in a turn without any tool: one short paragraph that begins like an error of a model's
    service, and holds no tag. Whoever works, and writes about errors, has done or said something else too.
    """
    said = text.strip()
    if len(said) > _LONGEST_VOICED or "\n\n" in said or "</" in said or not _VOICED.match(said):
        return None
    return _reported(one_line(said, MAX_REASON_CHARS), None, "", 0)


def _reported(message: str, status: int | None, name: str, code: int) -> ErrorReported:
    """``name``: what the service calls it."""
    if status is None and (found := _SPOKEN_STATUS.search(message)):
        status = int(found[1])
    if status is None and (code == AUTH_REQUIRED or _LOGIN.search(message)):
        return ErrorReported(message, 401, NOT_LOGGED_IN, True)
    return ErrorReported(message, status, name or (str(code) if code else ""), True)


def _fields(data: Raw) -> dict[str, object]:
    """Of the data, and of the service's own error in it."""
    fields: dict[str, object] = read(data, dict[str, object]) or {}
    inner = fields.get("error")
    return {**fields, **inner} if isinstance(inner, dict) else fields


def _text_in(fields: dict[str, object], names: Sequence[str]) -> str:
    found = (fields.get(name) for name in names)
    return next(
        (one_line(value, MAX_REASON_CHARS) for value in found if isinstance(value, str) and value), ""
    )


def _message(error: RpcError, fields: dict[str, object], data: str) -> str:
    """The details are in the data, under one of these names or as it is."""
    details = read(error.data, str) or _text_in(fields, _DETAILS)
    said = "" if details and error.message in (_SAYS_NOTHING, details) else error.message
    return one_line(
        ": ".join(part for part in (said, details) if part) or data or "unknown error", MAX_REASON_CHARS
    )
