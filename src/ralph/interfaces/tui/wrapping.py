"""Lines broken to the width of a screen, by cells and not by characters."""

from __future__ import annotations

from rich.cells import cell_len

TAB = "    "


def wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    """One line as rows of at most ``width`` cells; all but the first begin with ``indent`` spaces."""
    if "\t" in text:
        text = text.replace("\t", TAB)
    width = max(width, 8)
    if len(text) <= width and (text.isascii() or cell_len(text) <= width):
        return [text]
    indent = min(indent, width // 2)
    rows: list[str] = []
    margin = ""
    while text:
        room = width - len(margin)
        if len(text) <= room and (text.isascii() or cell_len(text) <= room):
            rows.append(margin + text)
            break
        end = _fitting(text, room)
        # At a space if there is one in the second half; else in the middle of a word, as terminals do.
        space = text.rfind(" ", end // 2, end + 1)
        cut = space if space > 0 else end
        rows.append(margin + text[:cut])
        text = text[cut:].lstrip(" ") if space > 0 else text[cut:]
        margin = " " * indent
    return rows


def _fitting(text: str, room: int) -> int:
    """How many characters fit; at least one, or it would never end."""
    end = min(len(text), room)
    if text[:end].isascii():
        return end
    while end > 1 and cell_len(text[:end]) > room:
        end -= max(1, (cell_len(text[:end]) - room) // 2)
    return max(end, 1)


def cut(text: str, width: int) -> str:
    """As much as fits, with an ellipsis if that is not all."""
    if width <= 0:
        return ""
    if len(text) <= width and (text.isascii() or cell_len(text) <= width):
        return text
    return text[: _fitting(text, width - 1)] + "…" if width > 1 else "…"
