"""A line of the stream before it is broken to the screen's width."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

LONGEST_LINE = 2_000
OUTPUT_LINES = 4
"""Lines of a tool's or a check's output that are shown."""


class Kind(StrEnum):
    """What a filter can choose."""

    WORDS = "words"
    TOOLS = "tools"
    CHECKS = "checks"
    LOOP = "loop"  #: always shown: where one is


class Line(NamedTuple):
    """A line before it is broken to the screen's width. The first ``head`` characters are emphasised."""

    kind: Kind
    style: str
    text: str
    head: int = 0
    indent: int = 0
    continues: bool = False  # it continues the line before it
