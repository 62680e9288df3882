"""Both OpenAI protocols refuse a request in the same words."""

from __future__ import annotations

from typing import Final

from ralph.testing.model.script import Record, Step

_CODES: Final = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}


def error_body(step: Step, status: int) -> Record:
    code = step.code or _CODES.get(status, "server_error")
    message = step.message or f"scripted error {status}"
    return {"error": {"message": message, "type": code, "code": code, "param": None}}
