"""Text that others wrote, as one short line of data among our own words: in a prompt, or in a file that agents read."""

from __future__ import annotations

from ralph.domain.text.masking import mask_text
from ralph.domain.text.safe_text import clean_line
from ralph.patterns import pattern

LONGEST = 2_000
"""Characters that are looked at: more than any line that is quoted."""
CUT = "…"
_TAG = pattern(r"<(?=[^\s=<])")
_MARKS = str.maketrans({'"': "'", "`": "'"})


def quotable(text: str, most: int) -> str:
    """Without secrets and escape sequences, without what would end the quotation or be read as a tag, and as Unicode:
    any bytes may be a file's name."""
    if not text:
        return ""
    text = text[:LONGEST].encode(errors="replace").decode()
    line = " ".join(clean_line(text).split())
    line = _TAG.sub("[", mask_text(line)).translate(_MARKS)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}{CUT}"


def quotable_path(path: str, most: int) -> str:
    """The end of a long path tells more than its beginning."""
    line = quotable(path, LONGEST)
    return line if len(line) <= most else f"{CUT}{line[1 - most :]}"


def fit_bytes(text: str, most: int) -> str:
    """At most so many bytes of UTF-8, in whole characters."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= most:
        return text
    return encoded[: most - len(CUT.encode())].decode(errors="ignore").rstrip() + CUT
