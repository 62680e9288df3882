"""A message on a bus: who said what, when, about which task; and its text, in which the lines of a body are quoted.

::

    ## FACT 20261115T141500.123456Z-1a2b3c4d

    - time: 2026-11-15T14:15:00.123456Z
    - project: shop
    - task: search
    - run: 20261115-141400-9f3c
    - parents: 20261115T141200.000000Z-00c0ffee

    > the search works

    <!-- end 20261115T141500.123456Z-1a2b3c4d 5d7c1e90 -->

The last line completes the message; its checksum covers all the lines before it.
"""

from __future__ import annotations

import re
import zlib
from datetime import UTC, datetime

from ralph.patterns import pattern
from ralph.values import dataclass, field

WAIT_WITHOUT_RESTART = "wait_without_restart"
"""The type of the message that says an agent waits for something outside."""

RUN_START = "RUN_START"
RUN_STOP = "RUN_STOP"
RESTART = "RESTART"
ERROR = "ERROR"
FACT = "FACT"

MAX_BODY_CHARS = 1_000_000
MAX_NAME_CHARS = 200
MAX_REASON_CHARS = 300
MAX_PARENTS = 100

_TYPE = pattern(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_ID_FORM = r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}"
_ID = pattern(_ID_FORM)
_SURROGATE = pattern("[\ud800-\udfff]")
_HEAD = pattern(rb"## ([A-Za-z][A-Za-z0-9_.-]{0,63}) (" + _ID_FORM.encode() + rb")\r?")
_END = pattern(rb"<!-- end (" + _ID_FORM.encode() + rb") ([0-9a-f]{8}) -->\r?")
_YEAR_9999 = 253_370_764_800.0
_FIELD = pattern(r"- (time|project|task|run|parents): (.*)")


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
    """Sorts by time; ``chance`` (four bytes) makes it unique."""
    moment = datetime.fromtimestamp(time, UTC)
    return f"{moment:%Y%m%dT%H%M%S.%f}Z-{chance.hex()}"


def is_message_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def problem_with(message: BusMessage) -> tuple[str, str] | None:
    """What is wrong with a message to be posted, and what to do about it, if anything."""
    if not _TYPE.fullmatch(message.type):
        return f"{message.type!r} cannot be the type of a message", "use letters, digits, '_', '-' and '.'"
    for name in ("project", "task", "run"):
        value = getattr(message, name)
        if len(value) > MAX_NAME_CHARS or not value.isprintable():
            what = f"{value[:MAX_NAME_CHARS]!r} cannot be the {name} of a message"
            return what, f"use one line of at most {MAX_NAME_CHARS} characters"
        if value != value.strip():
            return f"the {name} {value!r} begins or ends with a space", "remove the space"
    if len(message.parents) > MAX_PARENTS:
        what = f"a message has at most {MAX_PARENTS} parents, not {len(message.parents)}"
        return what, "give the nearest ones"
    for parent in message.parents:
        if not is_message_id(parent):
            return f"{parent!r} is not the id of a message", "`ralph bus read --json` shows the ids"
    if len(message.body) > MAX_BODY_CHARS:
        what = f"the body is too long ({len(message.body)} characters, at most {MAX_BODY_CHARS})"
        return what, "put it into a file and post the file's name"
    if _SURROGATE.search(message.body):
        return "the body is not UTF-8 text", "convert it, or put it into a file and post the file's name"
    return None


def in_one_line(body: str) -> str:
    """The beginning of a body, as the reason for something else."""
    words = " ".join(body[: 2 * MAX_REASON_CHARS].split())
    is_cut = len(words) > MAX_REASON_CHARS or len(body) > 2 * MAX_REASON_CHARS
    return f"{words[:MAX_REASON_CHARS]}…" if is_cut else words


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages to read. ``after_id``: those after that message in the file, whatever their time."""

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


_SPAN = pattern(r"(\d{1,30})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST = 10**9


def moment(text: str, *, now: float) -> float | None:
    """``10m`` ago, an ISO 8601 date or time (UTC unless it says otherwise), or seconds since the epoch."""
    if span := _SPAN.fullmatch(text):
        return now - min(int(span[1]), _LONGEST) * _SECONDS[span[2]]
    if re.fullmatch(r"\d{9,11}(\.\d+)?", text):
        return float(text)
    try:
        return _timestamp(text)
    except ValueError:
        return None


def _timestamp(text: str) -> float:
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)).timestamp()


# --- as text ---


def render_message(message: BusMessage) -> bytes:
    """One block and the empty line after it."""
    lines = [f"## {message.type} {message.id}", "", f"- time: {_iso(message.time)}"]
    for name in ("project", "task", "run"):
        if value := getattr(message, name):
            lines.append(f"- {name}: {value}")
    if message.parents:
        lines.append(f"- parents: {', '.join(message.parents)}")
    lines.append("")
    lines += [f"> {line}" if line else ">" for line in message.body.split("\n")]
    lines.append("")
    block = "".join(f"{line}\n" for line in lines).encode()
    return block + f"<!-- end {message.id} {zlib.crc32(block):08x} -->\n\n".encode()


@dataclass(frozen=True, slots=True)
class BusProblem:
    """What a reader had to skip. ``offset`` is where it starts, in bytes."""

    offset: int
    text: str


@dataclass(slots=True)
class BusReading:
    """A part of a bus. Nothing before ``settled`` has to be read again."""

    messages: list[BusMessage] = field(default_factory=list)
    problems: list[BusProblem] = field(default_factory=list)
    settled: int = 0
    torn_tail: BusProblem | None = None  # an incomplete message at the very end
    has_more: bool = False  # after ``settled``, not read


def parse_bus(data: bytes, *, offset: int = 0) -> BusReading:
    """Never raises. ``offset`` is where ``data`` starts in its file: at the start of a line."""
    reading = BusReading(settled=offset)
    lines = data.split(b"\n")
    place = offset
    block: list[bytes] = []
    block_at = offset
    head: re.Match[bytes] | None = None
    stray_at: int | None = None
    for number, line in enumerate(lines):
        is_last = number == len(lines) - 1
        length = len(line) + (not is_last)
        if found := _HEAD.fullmatch(line):
            if head is not None:
                reading.problems.append(_torn(head, block_at))
            head, block, block_at = found, [line], place
        elif head is not None:
            end = _END.fullmatch(line)
            if end is not None and end[1] == head[2]:
                _finish(reading, head, block, block_at, end)
                head = None
                reading.settled = place + length
            else:
                block.append(line)
        elif line.strip() and stray_at is None:
            stray_at = place
        if stray_at is not None and (head is not None or is_last):
            reading.problems.append(BusProblem(stray_at, "text outside of any message was skipped"))
            stray_at = None
        place += length
        if head is None and not is_last:
            reading.settled = place
    if head is not None:
        reading.torn_tail = _torn(head, block_at)
        reading.settled = block_at
    return reading


def _finish(
    reading: BusReading, head: re.Match[bytes], block: list[bytes], block_at: int, end: re.Match[bytes]
) -> None:
    if zlib.crc32(b"".join(line + b"\n" for line in block)) != int(end[2], 16):
        text = f"message {head[2].decode()} is damaged or was altered; it was skipped"
        reading.problems.append(BusProblem(block_at, text))
        return
    reading.messages.append(_message(head, [line.decode("utf-8", "replace") for line in block]))


def _torn(head: re.Match[bytes], block_at: int) -> BusProblem:
    return BusProblem(block_at, f"message {head[2].decode()} was never finished; it was skipped")


def _message(head: re.Match[bytes], lines: list[str]) -> BusMessage:
    fields: dict[str, str] = {}
    body: list[str] = []
    for line in lines[1:]:
        if line.startswith(">"):
            body.append(line[2:])
        elif found := _FIELD.fullmatch(line):
            fields.setdefault(found[1], found[2])
    return BusMessage(
        id=head[2].decode(),
        time=_epoch(fields.get("time", "")),
        type=head[1].decode(),
        body="\n".join(body),
        project=fields.get("project", ""),
        task=fields.get("task", ""),
        run=fields.get("run", ""),
        parents=tuple(parent for parent in fields.get("parents", "").split(", ") if parent),
    )


def _iso(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _epoch(text: str) -> float:
    """0 for anything that is not a time of ours: agents write files too, and years beyond 9999 have no date."""
    try:
        time = _timestamp(text)
    except (ValueError, OverflowError):
        return 0.0
    return time if 0 <= time < _YEAR_9999 else 0.0
