"""The ``[HH:MM:SS]`` in front of each line."""

from __future__ import annotations

from datetime import datetime, tzinfo


class Timestamps:
    """``zone`` None is the machine's own; tests give a fixed one."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._second = -1
        self._prefix = ""

    def clock_time(self, at: float, *, beside: float | None = None) -> str:
        """14:05:00, with the date when it is not the day of ``beside``."""
        try:
            moment = datetime.fromtimestamp(at, tz=self._zone)
        except (OverflowError, ValueError, OSError):  # agents report times: any number may come
            return "an unknown time"
        if beside is not None and datetime.fromtimestamp(beside, tz=self._zone).date() != moment.date():
            return moment.strftime("%Y-%m-%d %H:%M:%S")
        return moment.strftime("%H:%M:%S")

    def stamp(self, text: str, at: float, *, inside_line: bool = False) -> str:
        """Prefix every line; ``inside_line``: the text continues a line that has its prefix already."""
        if int(at) != self._second:  # a flood of lines has one second in common
            self._second = int(at)
            self._prefix = f"[{self.clock_time(at)}] "
        ends_open = not text.endswith("\n")
        stamped = (text if ends_open else text[:-1]).replace("\n", "\n" + self._prefix)
        return ("" if inside_line else self._prefix) + stamped + ("" if ends_open else "\n")
