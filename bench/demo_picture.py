"""``python -m bench.demo_picture [FILE]``: the demo as an animated picture, for the README. The lines are those of a real run in
a real terminal; only their pace is ours, so that they can be read."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pexpect
from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

DEFAULT = Path(__file__).parent.parent / "docs" / "pictures" / "demo.svg"
COLUMNS, ROWS = 100, 28
CELL, LINE, MARGIN = 8.0, 18, 14
GROUND = "#151b23"
COLOURS = {1: "#f47067", 2: "#57ab5a", 3: "#daaa3f", 4: "#539bf5", 6: "#39c5cf"}  # by their number in ANSI
# How long a line is looked at, by what it begins with, in seconds; any other passes by.
PACE = {"$": 1.0, "──": 1.2, "❌": 1.6, "🔄": 1.8, "✅ Completed": 4.0}
PASSING = 0.14
END = 5.0
_CONSOLE = Console(width=COLUMNS)


def main(arguments: list[str]) -> None:
    target = Path(arguments[0]) if arguments else DEFAULT
    target.write_text(draw(list(record())))
    print(f"wrote {target}")


def record() -> Iterator[Text]:
    """The lines of the demo, as a terminal of this width shows them when it is over."""
    yield Text("$ ralph demo", style="bold")
    with tempfile.TemporaryDirectory() as folder:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "ralph", "demo", f"{folder}/shop"],
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            timeout=120,
        )
        shown = child.read().replace(folder, "~")
        child.close()
    yield from AnsiDecoder().decode(shown.rstrip().replace("\r\n", "\n"))


def draw(lines: list[Text]) -> str:
    width, height = round(COLUMNS * CELL + 2 * MARGIN), ROWS * LINE + 2 * MARGIN
    moments: list[float] = []
    now = 0.0
    for line in lines:
        moments.append(now)
        now += next((pause for start, pause in PACE.items() if line.plain.startswith(start)), PASSING)
    total = now + END
    last = len(lines) - 1
    times = [*(100 * moment / total for moment in moments), 100]
    rolled = [_moved(min(0, ROWS - 1 - index)) for index in (*range(len(lines)), last)]
    covered = [_moved(index + 1) for index in (*range(len(lines)), last)]
    rows = "".join(_row(line, MARGIN + (index + 1) * LINE - 5) for index, line in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        "<title>ralph demo</title>\n<style>"
        "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#d1d7e0;white-space:pre}"
        ".b{font-weight:700}.d{fill:#9198a1}"
        + "".join(f".c{number}{{fill:{value}}}" for number, value in COLOURS.items())
        + f"#lines{{{rolled[-1]};animation:roll {total:.1f}s step-end infinite}}{_keyframes('roll', times, rolled)}"
        + f"#cover{{{covered[-1]};animation:cover {total:.1f}s step-end infinite}}{_keyframes('cover', times, covered)}"
        + "@media (prefers-reduced-motion:reduce){#lines,#cover{animation:none}}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>\n'
        f'<clipPath id="screen"><rect x="{MARGIN}" y="{MARGIN}" width="{COLUMNS * CELL}" height="{ROWS * LINE}"/></clipPath>\n'
        f'<g clip-path="url(#screen)"><g id="lines">{rows}'
        f'<rect id="cover" y="{MARGIN}" width="{width}" height="{len(lines) * LINE}" fill="{GROUND}"/></g></g>\n</svg>\n'
    )


def _moved(lines: int) -> str:
    return f"transform:translateY({lines * LINE}px)"


def _keyframes(name: str, times: list[float], states: list[str]) -> str:
    steps = "".join(f"{time:.2f}%{{{state}}}" for time, state in zip(times, states, strict=True))
    return f"@keyframes {name}{{{steps}}}"


def _row(line: Text, y: int) -> str:
    """One line, each part of it in its own cells whatever the font."""
    parts = []
    column = 0
    for text, style, _ in line.render(_CONSOLE):
        if text.strip():
            classes = _classes(style)
            parts.append(
                f'<text x="{MARGIN + column * CELL:g}" y="{y}"'
                + (f' class="{classes}"' if classes else "")
                + f' textLength="{cell_len(text) * CELL:g}" lengthAdjust="spacingAndGlyphs">{escape(text, quote=False)}</text>'
            )
        column += cell_len(text)
    return "".join(parts) + "\n"


def _classes(style: Style | None) -> str:
    if style is None:
        return ""
    number = style.color.number if style.color else None
    marks = (("b", style.bold), ("d", style.dim), (f"c{number}", number in COLOURS))
    return " ".join(name for name, holds in marks if holds)


if __name__ == "__main__":
    main(sys.argv[1:])
