"""Paths by their text: nothing is looked up."""

from __future__ import annotations

from ralph.guard.marks import UNKNOWN


def joined(base: str, path: str) -> str:
    """``path`` seen from ``base``, without ``.`` and ``..`` where the text says enough."""
    if path.startswith(("/", "~")) or (path.startswith(UNKNOWN) and base != UNKNOWN):
        whole = path
    elif path[1:2] == ":" and path[0].isalpha():
        return path
    else:
        whole = f"{base}/{path}"
    is_absolute = whole.startswith("/")
    parts: list[str] = []
    for part in whole.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            if parts[-1].startswith("~"):
                parts[-1] = "/home"  # one above a home: certainly not ours
            else:
                parts.pop()
        elif part == ".." and is_absolute:
            continue
        else:
            parts.append(part)
    text = "/".join(parts)
    if is_absolute:
        return "/" + text
    return text or "."
