"""Characters that nobody sees are gone; those that make an emoji or a word what it is stay."""

from __future__ import annotations

import sys
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tickets.invisible import drop_invisible, visible_line

DRAWN = {*range(0x600, 0x606), 0x6DD, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that are a sign of their own."""
IGNORABLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2065\u3164\ufe00\ufe0e\ufe0f\uffa0\ufff0\ufff8"
    "\U0001bca0\U0001d173\U000e0000\U000e0001\U000e0041\U000e0100\U000e01ef\U000e0fff\u2800"
)


def test_no_format_character_is_left_between_letters() -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1) if code not in DRAWN)
    hidden = [one for one in every if category(one) == "Cf"]

    assert len(hidden) > 100
    assert drop_invisible("".join(f"a{one}" for one in hidden)) == ("a" * len(hidden), len(hidden))


@pytest.mark.parametrize("one", IGNORABLE)
def test_nor_anything_else_that_unicode_calls_ignorable(one: str) -> None:
    assert drop_invisible(f"a{one}b{one}{one}") == ("ab", 3)


@pytest.mark.parametrize(
    "text",
    [
        "plain, ünïcode, 中文, ✓ ☃ 🚀",
        "❤\ufe0f ✔\ufe0f ©\ufe0f ‼\ufe0f 1\ufe0f⃣ #\ufe0f⃣",
        "👩\u200d💻 👩🏽\u200d💻 🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥 👨\u200d👩\u200d👧 🙂\u200d↔\ufe0f",
        "می\u200cخواهم",  # noqa: RUF001 - a Persian word with a non-joiner
        "क्\u200dष क्\u200cष",
        "⠓⠑⠇⠇⠕\u2800⠺⠕⠗⠇⠙",
    ],
)
def test_what_has_an_effect_stays(text: str) -> None:
    assert drop_invisible(text) == (text, 0)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("run\u200dthis", "runthis"),
        ("c\u200cd", "cd"),
        ("中\u200d文", "中文"),
        ("a\ufe0fb", "ab"),
        ("✔\ufe0f\ufe0f\ufe0f", "✔\ufe0f"),
        ("👩\u200d\u200d💻", "👩💻"),
        ("👩\u200d", "👩"),
        ("\u200d👩", "👩"),
        ("1\ufe0f2", "12"),
        ("\u2800\u2800 x \u2800", " x "),
        ("🏴\U000e0067\U000e007f", "🏴"),
    ],
)
def test_what_has_none_goes(text: str, seen: str) -> None:
    assert drop_invisible(text) == (seen, len(text) - len(seen))


def test_a_line_is_one_line_of_visible_words() -> None:
    assert visible_line(" a\u200b\tb\n\u2800c\x1b[31m\u202e ") == "a b c\\u202e"


@given(st.text(max_size=30))
def test_nothing_is_added_and_nothing_visible_is_lost(text: str) -> None:
    seen, count = drop_invisible(text)

    assert len(seen) + count == len(text)
    assert [one for one in text if one.isalnum()] == [one for one in seen if one.isalnum()] or any(
        one in text
        for one in "\u115f\u1160\u3164\uffa0"  # letters, says Unicode
    )
    assert visible_line(visible_line(text)) == visible_line(text)
