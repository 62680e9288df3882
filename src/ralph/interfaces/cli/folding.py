"""Long lines on a terminal break between words, indented below the text after their mark; in a pipe nothing breaks."""

from __future__ import annotations

import sys

from ralph.interfaces.cli.terminal import detect_look, display_width
from ralph.patterns import pattern

LEAST_ROOM = 12
"""Columns for words: an indent that leaves fewer is given up."""

_STYLE = pattern(r"\x1b\[[0-9;]*m")
# A command in backticks is one word: half of it must not be copied.
_WORD = pattern(r"( *)((?:[^ `]|`[^`]*`)+|[^ ]+)")
_LEADING = r"(?: |\x1b\[[0-9;]*m)*"
_MARK = r"(?:\[[^\]\s]{1,8}\]|ralph:|[^\w\s\x1b\[`'\"(/.\\<-]+)(?=[ \x1b])"
# What stands before two spaces is a label or a column, as in `Note:    …`; what follows it stays to the right of it.
_LABEL = r"(?:\w+ )?\w+:?(?=(?:\x1b\[0m)?  )"
_BEGINNING = pattern(f"{_LEADING}(?:{_MARK}|{_LABEL})?{_LEADING}")


def fold(text: str, width: int) -> str:
    """Lines of at most ``width`` columns, except where one word is longer."""
    return "\n".join(
        line if _columns(line) <= width else _fold_line(line, width) for line in text.split("\n")
    )


def print_folded(text: str) -> None:
    """On stdout, for people: what is data is printed as it is."""
    look = detect_look(sys.stdout)
    print(fold(text, look.width) if look.folds else text)


def _fold_line(line: str, width: int) -> str:
    found = _BEGINNING.match(line)
    assert found is not None, "it may be empty"
    beginning = found[0]
    indent = _columns(beginning)
    if width - indent < LEAST_ROOM:
        indent = 0
    rows, row, used = [], beginning, _columns(beginning)
    for gap, word in _WORD.findall(line[len(beginning) :]):
        columns = _columns(word)
        if used > indent and used + len(gap) + columns > width:
            rows.append(row)
            row, used = " " * indent, indent
        elif row != beginning or gap:
            row, used = row + gap, used + len(gap)
        row, used = row + word, used + columns
    return "\n".join([*rows, row])


def _columns(text: str) -> int:
    return display_width(_STYLE.sub("", text))
