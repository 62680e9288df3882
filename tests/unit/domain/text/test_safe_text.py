from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.text import safe_text
from ralph.domain.text.safe_text import clean, clean_line, escape

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        pytest.param("two\n\tlines ✅ é", "two\n\tlines ✅ é", id="ordinary text stays"),
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colours"),
        pytest.param("a\x1b[2J\x1b[1;1Hb", "ab", id="clearing the screen"),
        pytest.param("a\x1b]0;title\x07b", "ab", id="a window title"),
        pytest.param("a\x1b]52;c;ZXZpbA==\x1b\\b", "ab", id="the clipboard"),
        pytest.param("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb", id="a disguised link"),
        pytest.param("a\x1bP1$r\x1b\\b", "ab", id="a device control string"),
        pytest.param("a\x9b31mb", "ab", id="an eight-bit sequence"),
        pytest.param("a\x9d0;t\x9cb", "ab", id="an eight-bit title"),
        pytest.param("a\x1b(0b", "ab", id="another character set"),
        pytest.param("a\x1bcb", "ab", id="a reset"),
        pytest.param("a\x1b[3", "a", id="a sequence cut off"),
        pytest.param("a\x1b]0;never ended", "a0;never ended", id="a title without an end hides nothing"),
        pytest.param("a\x90b\x9d0;t\x9cc", "a\\x90bc", id="a sequence begun in another hides nothing"),
        pytest.param("a\x1b", "a\\x1b", id="a lone escape"),
        pytest.param("rm -rf /\rls     ", "rm -rf /\nls     ", id="a carriage return hides nothing"),
        pytest.param("one\r\ntwo\r\n", "one\ntwo\n", id="lines of Windows"),
        pytest.param("a\x08\x00\x7f", "a\\x08\\x00\\x7f", id="control characters"),
        pytest.param("safe\u202eexe.txt", "safe\\u202eexe.txt", id="turned direction"),
        pytest.param("half \ud800", "half \\ud800", id="half a character"),
        pytest.param("a\u2028b", "a\nb", id="a line separator"),
    ],
)
def test_hostile_text_becomes_harmless(hostile: str, harmless: str) -> None:
    assert clean(hostile) == harmless


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("make test", "make test"),
        ("a\nb\r\nc\td", "a b c d"),
        ("\n\n", ""),
        ("\x1b[1mx\x1b[0m\u202e", "x\\u202e"),
    ],
)
def test_a_line_stays_one_line(text: str, line: str) -> None:
    assert clean_line(text) == line


def is_harmless(text: str) -> bool:
    return not any(
        (unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t") or char in BIDI for char in text
    )


hostile_texts = st.text(st.one_of(st.characters(), st.sampled_from("\x1b\x9b\r\n\t[]0;m\x07\\" + BIDI)))


@given(hostile_texts)
def test_nothing_hostile_survives(text: str) -> None:
    assert is_harmless(clean(text))
    assert is_harmless(clean_line(text))
    assert "\n" not in clean_line(text)


@given(hostile_texts)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


NEVER = re.compile("\x1b(?!\\[[0-9;?]*[A-Za-z])|[\x07\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
like_hostile = st.sampled_from(
    "\u2713\u2026\u2013\u2027\u202f\u2065\u206a\u00a0\u00e9\u061b\u061d\u40e2"
    + BIDI
    + "\x1b\x7f\x80\x9f\ud800\r"
)
long_texts = st.builds(
    lambda before, text, after: before * 70 + text + after * 70,
    st.sampled_from(("", "x", "\u2713")),
    st.text(st.one_of(st.characters(), like_hostile)),
    st.sampled_from(("", "x", "\u2713")),
)


@given(long_texts)
def test_the_quick_tests_of_long_texts_say_what_a_look_at_each_character_says(text: str) -> None:
    shown = "".join(char for char in text if char not in "\u2028\u2029")
    assert safe_text.is_harmless(shown) is is_harmless(shown)
    assert escape(text) == NEVER.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@pytest.mark.parametrize("around", ["", "x" * 50, "x" * 500])
def test_the_quick_tests_know_each_character_of_ascii(around: str) -> None:
    told = [safe_text.is_harmless(f"{around}{chr(code)}{around}") for code in range(128)]
    assert told == [is_harmless(chr(code)) for code in range(128)]


@pytest.mark.parametrize(
    "piece", ["\x1b[", "\x1b]", "\x1b[1;", "\x9b0", "\x1b ", "\r", "\x1b]0;x", "\x90", "\x9d0;"]
)
def test_cleaning_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    clean(piece * 100_000)
    assert time.process_time() - started < 2.0  # a quadratic pattern would take minutes
