"""Keeps secrets off the screen when settings are shown."""

from __future__ import annotations

import re

from ralph.domain.text.secret_names import MASK, looks_secret

_FLAG_VALUE = re.compile(r"(?P<flag>--?(?P<name>[A-Za-z][\w-]*))(?P<gap>[= ]\s*)(?P<value>\S.*)", re.DOTALL)
_FLAG = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)")


def redacted(value: object, *, name: str = "") -> object:
    """The same JSON value with secret-looking strings replaced."""
    if isinstance(value, dict):
        return {key: redacted(item, name=key) for key, item in value.items()}
    if isinstance(value, list):
        return _redacted_list(value)
    if isinstance(value, str) and value:
        return MASK if looks_secret(name) else _redacted_flag(value)
    return value


def _redacted_list(items: list[object]) -> list[object]:
    """A value may stand in the entry behind its flag: ``["--api-key", "…"]``."""
    shown: list[object] = []
    after_secret_flag = False
    for item in items:
        is_value = after_secret_flag and isinstance(item, str) and not item.startswith("-")
        shown.append(MASK if is_value else redacted(item))
        flag = _FLAG.fullmatch(item) if isinstance(item, str) else None
        after_secret_flag = flag is not None and looks_secret(flag["name"])
    return shown


def _redacted_flag(text: str) -> str:
    match = _FLAG_VALUE.fullmatch(text)
    if match and looks_secret(match["name"]):
        return match["flag"] + match["gap"] + MASK
    return text
