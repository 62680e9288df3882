"""What a plain YAML scalar means, by the rules of YAML 1.2: ``no`` is text, ``010`` is text, ``1:30`` is text."""

from __future__ import annotations

import math
import re

_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][-+]?\d+)([eE][-+]?\d+)?")
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


def plain_value(text: str) -> str | int | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
            return number
    return text
