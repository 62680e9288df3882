"""What ralph says below a ticket, as much of it as a tracker takes."""

from __future__ import annotations

from ralph.domain.text.safe_text import clean

_CUT = "\n\n… The rest is left out: it is too long for a comment."


def cut_comment(text: str, longest: int) -> str:
    """Up to ``longest`` characters, with a sentence that says so."""
    text = clean(text).strip()
    return text if len(text) <= longest else text[: longest - len(_CUT)].rstrip() + _CUT
