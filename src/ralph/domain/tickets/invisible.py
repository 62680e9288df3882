"""Characters that nobody sees: they can hide words from a search, and spell out whole sentences that only a machine reads."""

from __future__ import annotations

import re
from unicodedata import category

from ralph.domain.text.safe_text import clean_line
from ralph.patterns import pattern

# Unicode's format characters, apart from those that are drawn, and all that it calls ignorable.
_INVISIBLE = pattern(
    "[\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_NON_JOINER, _JOINER, _AS_EMOJI, _KEYCAP, _BRAILLE_BLANK = "\u200c", "\u200d", "\ufe0f", "\u20e3", "\u2800"
_JOINING = pattern("[\u0600-\u109f\u1700-\u1cff\ua800-\uabff\U00010a00-\U00011fff]")
"""Letters of scripts in which a joiner changes how a word is written."""
_BRAILLE = pattern("[\u2801-\u28ff]")
_DRAWN_AS_EMOJI = "‼⁉〰〽ℹ"  # noqa: RUF001 - these are meant


def drop_invisible(text: str) -> tuple[str, int]:
    """The text without them, and how many there were. Joiners stay where they make an emoji or a word what it is."""
    if text.isascii():
        return text, 0
    dropped = 0

    def keep(found: re.Match[str]) -> str:
        nonlocal dropped
        if _has_effect(text, found.start()):
            return found[0]
        dropped += 1
        return ""

    return _INVISIBLE.sub(keep, text), dropped


def is_visible(text: str) -> bool:
    """Whether a name can be shown as it is."""
    return text == clean_line(text) and not drop_invisible(text)[1]


def visible_line(text: str) -> str:
    """One line, as people see it."""
    return " ".join(drop_invisible(clean_line(text))[0].split())


def _has_effect(text: str, at: int) -> bool:
    one, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if one == _AS_EMOJI:
        return _is_pictured(before) or (before != "" and before in "0123456789#*" and after == _KEYCAP)
    if one == _BRAILLE_BLANK:
        return _BRAILLE.match(before) is not None or _BRAILLE.match(after) is not None
    if one not in (_JOINER, _NON_JOINER):
        return False
    if _is_joining(before) and _is_joining(after):
        return True
    if before == _AS_EMOJI:
        before = text[at - 2 : at - 1]
    return one == _JOINER and (_is_pictured(before) or _is_tone(before)) and _is_pictured(after)


def _is_pictured(one: str) -> bool:
    return one != "" and (category(one) in ("So", "Sm") or one in _DRAWN_AS_EMOJI) and one != _BRAILLE_BLANK


def _is_tone(one: str) -> bool:
    return "\U0001f3fb" <= one <= "\U0001f3ff"


def _is_joining(one: str) -> bool:
    return _JOINING.match(one) is not None and category(one)[0] in "LM"
