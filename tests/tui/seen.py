"""What is on the screen: as a picture, as text, and as coloured pieces that can be compared."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from rich.cells import cell_len
from textual.pilot import Pilot

from ralph.interfaces.tui.app import RalphApp
from tests.tui.sample import NOW

T = TypeVar("T")

DEADLINE = 40.0
SMALL, LARGE = (80, 24), (130, 40)
CELL = 12.2

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_NAMES = re.compile(r"terminal-\d+")
_TEXT = re.compile(r'<text class="terminal-(r\d+)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>')
_CLASS = re.compile(r"\.terminal-(r\d+) \{([^}]*)\}")


class Piece(NamedTuple):
    row: int
    column: int
    style: str
    text: str


def picture_of(app: RalphApp) -> str:
    """Without fonts from elsewhere, and with the same names each time."""
    svg = _FONTS.sub("", app.export_screenshot(title="ralph ui"))
    svg = svg.replace("font-family: Fira Code, monospace", "font-family: monospace")
    return _NAMES.sub("terminal", svg)


def pieces_of(picture: str) -> list[Piece]:
    """Each run of characters of one style; what is blank or beyond the edge says nothing."""
    styles = {name: " ".join(rule.replace(";", " ").split()) for name, rule in _CLASS.findall(picture)}
    found = (
        Piece(
            round((float(y) - 20) / 24.4),
            round(float(x) / CELL),
            styles.get(name, ""),
            html.unescape(text).replace("\xa0", " "),
        )
        for name, x, y, text in _TEXT.findall(picture)
    )
    return sorted(piece for piece in found if piece.text.strip())


def rows_of(picture: str) -> list[str]:
    """The text alone, row by row."""
    rows: dict[int, str] = {}
    for piece in pieces_of(picture):
        row = rows.get(piece.row, "")
        rows[piece.row] = row + " " * (piece.column - cell_len(row)) + piece.text
    return [rows.get(number, "").rstrip() for number in range(max(rows, default=-1) + 1)]


def text_of(app: RalphApp) -> str:
    return "\n".join(rows_of(picture_of(app)))


class Viewer:
    """Somebody at the screen: presses keys, and looks until something is to be seen."""

    def __init__(self, app: RalphApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot
        self.heard: list[str] = []  # what was said beside the views
        notify = app.notify

        def overheard(message: str, **options: Any) -> None:
            self.heard.append(message)
            notify(message, **options)

        app.notify = overheard  # type: ignore[method-assign]

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
        await self.pilot.pause()

    async def sees(self, *texts: str) -> str:
        await self.until(lambda: all(text in text_of(self.app) for text in texts), f"{texts} on the screen")
        return text_of(self.app)

    async def hears(self, text: str) -> None:
        await self.until(lambda: any(text in said for said in self.heard), f"{text!r} said")

    async def misses(self, text: str) -> None:
        await self.until(lambda: text not in text_of(self.app), f"no {text!r} on the screen")

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = monotonic() + DEADLINE
        while not condition():
            assert monotonic() < deadline, f"never: {what}\n{text_of(self.app)}"
            await self.app.look()
            await self.pilot.pause(0.02)

    async def gets(self, question: Callable[[], list[T]]) -> list[T]:
        """What the record answers, once it answers anything."""
        answers: list[T] = []

        def asked() -> bool:
            answers.extend(question())
            return bool(answers)

        await self.until(asked, "an answer of the record")
        return answers

    async def settle(self) -> None:
        """Until two pictures in a row are the same."""
        before = ""
        deadline = monotonic() + DEADLINE
        while (now := picture_of(self.app)) != before:
            assert monotonic() < deadline, "the screen never comes to rest"
            before = now
            await self.app.look()
            await self.pilot.pause(0.05)


@asynccontextmanager
async def viewing(
    root: Path, run_id: str | None = None, *, size: tuple[int, int] = SMALL, light: bool = False
) -> AsyncIterator[Viewer]:
    app = RalphApp(root / ".ralph", run_id, now=lambda: NOW, zone=UTC, light=light)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield Viewer(app, pilot)


def play(
    root: Path,
    story: Callable[[Viewer], Awaitable[None]],
    *,
    run_id: str | None = None,
    size: tuple[int, int] = SMALL,
    light: bool = False,
) -> None:
    """What a user at the screen does and sees."""

    async def whole() -> None:
        async with viewing(root, run_id, size=size, light=light) as viewer:
            await story(viewer)

    asyncio.run(whole())
