"""Messages as text that people can read, and back. A body cannot pretend to be a message: its lines are quoted.

::

    ## FACT 20261115T141500.123456Z-1a2b3c4d

    - time: 2026-11-15T14:15:00.123456Z
    - project: shop
    - task: search
    - run: 20261115-141400-9f3c
    - parents: 20261115T141200.000000Z-00c0ffee

    > the search works

    <!-- end 20261115T141500.123456Z-1a2b3c4d 5d7c1e90 -->

The last line is there when the message is whole; its checksum is of all the lines before it.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ralph.domain.supervision.message import BusMessage

_ID = rb"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}"
_HEAD = re.compile(rb"## ([A-Za-z][A-Za-z0-9_.-]{0,63}) (" + _ID + rb")\r?")
_END = re.compile(rb"<!-- end (" + _ID + rb") ([0-9a-f]{8}) -->\r?")
_YEAR_9999 = 253_370_764_800.0
_FIELD = re.compile(r"- (time|project|task|run|parents): (.*)")


def render_message(message: BusMessage) -> bytes:
    """One block, with the empty line that follows it."""
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
    """What a reader had to skip. ``offset`` is where it begins, in bytes."""

    offset: int
    text: str


@dataclass(slots=True)
class BusReading:
    """What a piece of a bus says. ``settled`` is how far it needs not be read again."""

    messages: list[BusMessage] = field(default_factory=list)
    problems: list[BusProblem] = field(default_factory=list)
    settled: int = 0
    torn_tail: BusProblem | None = None  # a message at the very end that is not whole (yet)
    has_more: bool = False  # behind what was settled, and not looked at


def parse_bus(data: bytes, *, offset: int = 0) -> BusReading:
    """Never raises. ``offset`` is where ``data`` begins in its file: the beginning of a line."""
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
        name = head[2].decode()
        reading.problems.append(
            BusProblem(block_at, f"message {name} is damaged or was altered; it was skipped")
        )
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
    """0 for what is no time of ours: agents write files too, and the years before 1 and after 9999 have no date."""
    try:
        moment = datetime.fromisoformat(text)
        time = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return time if 0 <= time < _YEAR_9999 else 0.0
