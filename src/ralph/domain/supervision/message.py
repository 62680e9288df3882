"""A message on a bus: who said what, when, about which task. Values and the rules for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

WAIT_WITHOUT_RESTART = "wait_without_restart"
"""The type of message by which an agent says that it waits for something outside (seed 003)."""

RUN_START = "RUN_START"
RUN_STOP = "RUN_STOP"
RESTART = "RESTART"
ERROR = "ERROR"
FACT = "FACT"
USUAL_TYPE = "INFO"

MAX_BODY_CHARS = 1_000_000
MAX_NAME_CHARS = 200
MAX_REASON_CHARS = 300
MAX_PARENTS = 100

_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_ID = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BusMessage:
    """``time`` is seconds since the epoch; ``parents`` are the ids of the messages this one answers."""

    id: str
    time: float
    type: str
    body: str
    project: str = ""
    task: str = ""
    run: str = ""
    parents: tuple[str, ...] = ()


def message_id(time: float, chance: bytes) -> str:
    """Sorts by time; ``chance`` (four bytes) tells two messages of one moment apart."""
    moment = datetime.fromtimestamp(time, UTC)
    return f"{moment:%Y%m%dT%H%M%S.%f}Z-{chance.hex()}"


def is_message_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def problem_with(message: BusMessage) -> tuple[str, str] | None:
    """What is wrong with a message that somebody wants to post, and what to do; None if nothing is."""
    if not _TYPE.fullmatch(message.type):
        return f"{message.type!r} cannot be the type of a message", "use letters, digits, '_', '-' and '.'"
    for name in ("project", "task", "run"):
        value = getattr(message, name)
        if len(value) > MAX_NAME_CHARS or not value.isprintable():
            return (
                f"{value[:MAX_NAME_CHARS]!r} cannot be the {name} of a message",
                f"one line of at most {MAX_NAME_CHARS} characters",
            )
        if value != value.strip():
            return f"the {name} {value!r} begins or ends with a space", "leave the space out"
    if len(message.parents) > MAX_PARENTS:
        return (
            f"a message has at most {MAX_PARENTS} parents, not {len(message.parents)}",
            "name the nearest ones",
        )
    for parent in message.parents:
        if not is_message_id(parent):
            return f"{parent!r} is not the id of a message", "`ralph bus read --json` shows the ids"
    if len(message.body) > MAX_BODY_CHARS:
        return (
            f"the body is too long ({len(message.body)} characters, at most {MAX_BODY_CHARS})",
            "put it into a file and post the file's name",
        )
    if _SURROGATE.search(message.body):
        return "the body is not UTF-8 text", "convert it, or put it into a file and post the file's name"
    return None


def in_one_line(body: str) -> str:
    """The beginning of a body, for where it is only the reason of something else."""
    words = " ".join(body[: 2 * MAX_REASON_CHARS].split())
    is_cut = len(words) > MAX_REASON_CHARS or len(body) > 2 * MAX_REASON_CHARS
    return f"{words[:MAX_REASON_CHARS]}…" if is_cut else words


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages are wanted. ``after_id``: those behind that message in the file, whatever their clocks said."""

    types: frozenset[str] = frozenset()  # upper case; empty: all
    since: float | None = None
    after_id: str = ""

    def of(self, messages: list[BusMessage]) -> list[BusMessage]:
        if self.after_id:
            places = [place for place, message in enumerate(messages) if message.id == self.after_id]
            messages = messages[places[-1] + 1 :] if places else messages
        return [message for message in messages if self.takes(message)]

    def takes(self, message: BusMessage) -> bool:
        if self.types and message.type.upper() not in self.types:
            return False
        return self.since is None or message.time >= self.since


_SPAN = re.compile(r"(\d{1,30})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST = 10**9


def moment(text: str, *, now: float) -> float | None:
    """``10m`` ago, an ISO 8601 date or time (UTC unless it says otherwise), or seconds since the epoch."""
    if span := _SPAN.fullmatch(text):
        return now - min(int(span[1]), _LONGEST) * _SECONDS[span[2]]
    if re.fullmatch(r"\d{9,11}(\.\d+)?", text):
        return float(text)
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)).timestamp()
