"""The lines at the bottom of a terminal: one for the run, or one for each run that is part of it and under way."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO

from ralph.domain.loop.events import LoopEvent, RunEnded, TaskReported
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import RunLabel
from ralph.interfaces.cli.console.status_line import ERASE, StatusLine
from ralph.interfaces.cli.terminal import Look, fit

DEFAULT_HEIGHT = 24
KEPT = 3
"""Rows of the terminal that are left to what was printed last."""


class LiveLines(StatusLine):
    """Draws the lines of the parts, if there are any, as many as fit on the terminal."""

    def __init__(self, err: TextIO, look: Look, *, height: Callable[[], int] | None = None) -> None:
        super().__init__(err, look)
        self._err = err
        self._look = look
        self._height = height if height is not None else lambda: _height_of(err)
        self._parts: dict[str, PartLine] = {}
        self._rows = 0  # drawn

    def part(self, label: RunLabel) -> PartLine:
        """The line of a run that is part of this one; gone when its task is reported."""
        part = self._parts[label.task] = PartLine(self, self._err, self._look, label)
        return part

    def observe(self, event: LoopEvent, at: float) -> None:
        super().observe(event, at)
        if isinstance(event, TaskReported):
            self._parts.pop(event.task, None)

    def lines(self) -> list[str]:
        """All that there is to show, cut to the terminal."""
        stopping = f"{self._marks.wait} {self._stopping}" if self._stopping and self._parts else ""
        own = [super().text() or stopping]
        texts = [text for text in (*(part.text() for part in self._parts.values()), *own) if text]
        room = max(1, self._height() - KEPT)
        if len(texts) > room:
            more = f"{self._marks.wait} {len(texts) - room + 1} more at work"
            texts = [*texts[: room - 1], more]
        width = self._width() - len("^C") - 1  # which the terminal puts behind the last line
        return [fit(text, width, ellipsis=self._marks.more) for text in texts]

    def text(self) -> str:
        return "\n".join(self.lines())

    def tick(self) -> None:
        if not self._live or self.held or self._outlet.is_behind:
            return
        if self._disturbed:
            self._disturbed = False
            return
        text = self.text()
        if text and text != self._drawn:
            shown = text.replace("\n", f"{self._colors.off}\n{self._colors.dim}")
            self._outlet.write(f"{self._erasure()}{self._colors.dim}{shown}{self._colors.off}")
            self._drawn, self._rows = text, text.count("\n") + 1

    def clear(self) -> None:
        self._disturbed = True
        if self._drawn:
            self._outlet.write(self._erasure())
            self._drawn, self._rows = "", 0

    def _erasure(self) -> str:
        return ERASE if self._rows < 2 else f"\r\x1b[{self._rows - 1}A\x1b[J"


class PartLine(StatusLine):
    """The text of one part; the lines as a whole draw it."""

    def __init__(self, whole: LiveLines, err: TextIO, look: Look, label: RunLabel) -> None:
        super().__init__(err, look)
        self._whole = whole
        self._label = label
        self._merges = False

    def observe(self, event: LoopEvent, at: float) -> None:
        super().observe(event, at)
        if isinstance(event, RunEnded):
            self._merges = True

    def text(self) -> str:
        marks = self._marks
        mark = f"{marks.wait} "
        said = super().text().removeprefix(mark) or ("accepted" if self._merges else "starting")
        parts = (f"[{clean_line(self._label.task)}] {said}", clean_line(self._label.title))
        return mark + f" {marks.dot} ".join(filter(None, parts))

    def clear(self) -> None:
        self._whole.clear()


def _height_of(stream: TextIO) -> int:
    """The rows now: windows are resized."""
    try:
        return os.get_terminal_size(stream.fileno()).lines or DEFAULT_HEIGHT
    except (AttributeError, OSError, ValueError):
        return DEFAULT_HEIGHT
