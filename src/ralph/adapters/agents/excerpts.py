"""Cutting what agents print down to what an event carries: one-line summaries and the head of outputs."""

from __future__ import annotations

from ralph.patterns import pattern
from ralph.values import dataclass

MAX_SUMMARY_CHARS = 200
MAX_OUTPUT_CHARS = 2_000

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_ESCAPES |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def one_line(text: str, limit: int = MAX_SUMMARY_CHARS) -> str:
    """A text in one line of at most ``limit`` characters; control characters become visible escapes."""
    if len(text) <= limit and text.isprintable():
        return text.strip()
    # Cut first: a summary must not cost the size of the input. What is stripped may be a long run of blanks.
    line = text[: 4 * limit].strip()
    if not line.isprintable():
        line = line.translate(_ESCAPES)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def head(text: str) -> str:
    """The beginning of an output."""
    return text[:MAX_OUTPUT_CHARS]


def count_lines(text: str) -> int:
    """Lines as an editor counts them: the last one needs no newline."""
    newlines = text.count("\n")
    return newlines if not text or text[-1] == "\n" else newlines + 1


@dataclass(frozen=True, slots=True)
class Measured:
    """The beginning of an output; ``lines`` and ``chars`` count the whole."""

    head: str
    lines: int
    chars: int


def measure(text: str) -> Measured:
    return Measured(head(text), count_lines(text), len(text))


# CSI (colours, cursor), OSC (titles, links; up to its end or the end of the line), and the two-character rest.
_ANSI = pattern(r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")


def without_ansi(text: str) -> str:
    return _ANSI.sub("", text) if "\x1b" in text else text
