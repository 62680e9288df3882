"""``--json``: one JSON object per loop event and line, for programs."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TextIO

from ralph.domain.agent.events import Unknown
from ralph.domain.loop.events import AgentActed, AgentEnded, LoopEvent, Warned
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import escape
from ralph.interfaces.cli.console.outlet import Outlet
from ralph.values import fields


class JsonLines:
    """A listener that writes and flushes one line per event. ``of_all`` goes into every line."""

    def __init__(self, out: TextIO, **of_all: str) -> None:
        import msgspec.json  # only this face pays for it

        self._encode: Callable[[object], bytes] = msgspec.json.Encoder(enc_hook=str).encode
        self._outlet = Outlet(out)
        self._of_all = of_all
        self._readers: dict[type, tuple[tuple[str, ...], Callable[[object], tuple[object, ...]]]] = {}

    def __call__(self, event: LoopEvent, at: float) -> None:
        moment = datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="milliseconds")
        record = {"at": moment.replace("+00:00", "Z"), **self._of_all, **self._fields(event)}
        if isinstance(event, AgentActed):
            record["events"] = [self._fields(acted) for acted in event.events]
        elif isinstance(event, AgentEnded) and event.fault is not None:
            record["fault"] = self._fields(event.fault)
        try:
            line = self._encode(record)
        except UnicodeEncodeError:
            line = self._encode(_without_surrogates(self._decoded(record)))
        if not line.isascii() or b"\x7f" in line:
            line = escape(line.decode()).encode()
        self._outlet.write_utf8(line + b"\n", chatter=isinstance(event, AgentActed))

    def _fields(self, value: object) -> dict[str, Any]:
        """``kind`` is called ``type`` in JSON; the type of an Unknown gets another key."""
        record = {"type": "", **self._plain(value)}
        if isinstance(value, Unknown):
            record["unknown_type"] = value.type
        record["type"] = record.pop("kind")
        return record

    def _plain(self, value: Any) -> dict[str, Any]:
        reader = self._readers.get(type(value))
        if reader is None:
            names = tuple(field.name for field in fields(value))
            reader = self._readers[type(value)] = (names, _values_of(names))
        names, get = reader
        return dict(zip(names, get(value), strict=True))

    def _decoded(self, value: object) -> object:
        import msgspec

        return msgspec.to_builtins(value, enc_hook=str)


def left_out_line(lines: int) -> str:
    """In place of lines that nobody read in time."""
    line = io.StringIO()
    warning = Warned(f"{plural(lines, 'line')} left out: nobody read them in time")
    JsonLines(line)(warning, time.time())
    return line.getvalue()


def _values_of(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    if len(names) == 1:  # then attrgetter would give the bare value
        return lambda value: (getattr(value, names[0]),)
    return attrgetter(*names)


def _without_surrogates(value: object) -> object:
    """Agents that cut text carelessly print half characters, which UTF-8 cannot express."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
