"""Patterns of paths, as in a .gitignore: ``tests/**``, ``*.snap``, ``docs/``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_PARTS = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]/]+\]|[^*?\[]+|\[")


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)


def matches(path: str, pattern: str) -> bool:
    """``path`` is relative, with ``/``. A pattern without a slash fits at any depth; one that names a folder fits all in it."""
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    bare = pattern.strip().removeprefix("./")
    is_anchored = "/" in bare.rstrip("/")
    bare = bare.strip("/")
    translated = "".join(map(_translated, _PARTS.findall(bare)))
    return re.compile(("" if is_anchored else "(?:.*/)?") + translated + "(?:/.*)?", re.DOTALL)


def _translated(part: str) -> str:
    match part:
        case "**/":
            return "(?:.*/)?"
        case "/**":
            return "/.*"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _ if part.startswith("[") and part.endswith("]") and len(part) > 2:
            inside = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            return f"[{'^' + inside[1:] if inside[0] == '!' else inside}]"
        case _:
            return re.escape(part)
