"""What a refusal of a service means: that it is busy or away, or that it will not do it."""

from __future__ import annotations

from ralph.adapters.online.service import GITHUB, Service
from ralph.adapters.online.shape import Shape
from ralph.adapters.online.transport import Answer
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ServiceAway, ServiceRefused

LONGEST = 500
LONGEST_WAIT = 3_600.0
"""Seconds. Services count requests by the hour."""
UNSAID_WAIT = 60.0
"""What GitHub asks for if it limits without saying for how long."""


class Unseen(ServiceRefused):
    """It is not there, or not for this user."""


class Missing(Unseen):
    """The service says that it is not there; so it says of what one may not see."""


def problem_of(
    answer: Answer, *, now: float, service: Service = GITHUB
) -> ServiceAway | ServiceRefused | None:
    """None: it is no refusal. ``now``: seconds since the epoch."""
    status = answer.status
    if 200 <= status < 300:
        return None
    if (wait := limit_of(answer, now=now)) is not None:
        return ServiceAway(f"{service.name} limits requests: {_said(answer)}", after=wait)
    if status in (408, 425, 429) or status >= 500 or status < 400:
        return ServiceAway(f"{service.name} answered {status}: {_said(answer)}", after=_retry_after(answer))
    return _refusal(answer, service)


def _refusal(answer: Answer, service: Service) -> ServiceRefused:
    match answer.status:
        case 401:
            return ServiceRefused(f"not logged in to {service.name}: {_said(answer)}", hint=service.log_in)
        case 403:
            hint = "log in as someone who may, or with a token that may"
            return Unseen(f"{service.name} does not permit it: {_said(answer)}", hint=hint)
        case 404 | 410:
            hint = "check the address of the remote, or log in as someone who may see it"
            return Missing(
                f"{service.name} has no such repository or entry, or you may not see it", hint=hint
            )
        case _:
            return ServiceRefused(f"{service.name} refused: {_said(answer)}")


def limit_of(answer: Answer, *, now: float) -> float | None:
    """Seconds to wait for a limit of requests; None: it is about something else."""
    if answer.status not in (403, 429):
        return None
    if (after := _retry_after(answer)) is not None:
        return after
    if answer.headers.get("x-ratelimit-remaining") == "0":
        return wait_for_reset(answer, now=now)
    words = words_of(answer).lower()
    is_limit = answer.status == 429 or "rate limit" in words or "abuse detection" in words
    return UNSAID_WAIT if is_limit else None


def wait_for_reset(answer: Answer, *, now: float) -> float:
    reset = seconds_in(answer.headers.get("x-ratelimit-reset", ""))
    return UNSAID_WAIT if reset is None else bound_wait(reset - now)


def _retry_after(answer: Answer) -> float | None:
    seconds = seconds_in(answer.headers.get("retry-after", ""))
    return None if seconds is None else bound_wait(seconds)


def bound_wait(seconds: float) -> float:
    """Neither at once, nor for ever."""
    return min(max(seconds, 1.0), LONGEST_WAIT)


def seconds_in(text: str) -> float | None:
    """The number that a header has; None: it has none."""
    text = text.strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def garbled(*, wanted: str, service: Service = GITHUB) -> ServiceAway:
    """An answer that is none. A proxy or a service in trouble gives those; it is worth another try."""
    return ServiceAway(f"{service.name}'s answer could not be read (expected: {wanted})")


def _said(answer: Answer) -> str:
    return words_of(answer) or f"HTTP status {answer.status}, without a reason"


def words_of(answer: Answer) -> str:
    """The service's own, on one line: what it says in general, and about each field."""
    said = decoded(answer.body)
    errors = (error.text or error["message"].text or _field(error) for error in said["errors"])
    words = "; ".join(dict.fromkeys(filter(None, (said["message"].text, *errors))))
    line = " ".join(clean_line(words[: 4 * LONGEST]).split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _field(error: Shape) -> str:
    return " ".join(filter(None, (error["field"].text, error["code"].text)))


def decoded(body: bytes) -> Shape:
    """Nothing if it is not JSON."""
    import msgspec

    try:
        return Shape(msgspec.json.decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return Shape()
