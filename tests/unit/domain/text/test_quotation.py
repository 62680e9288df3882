from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.claims import find_tags
from ralph.domain.text.quotation import fit_bytes, quotable, quotable_path

ANY = st.text(st.characters())  # lone surrogates too, as file names have them


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("E   assert 1 == 2", "E assert 1 == 2"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("x\u202ey", "x\\u202ey"),
        ('say "it" with `ticks`', "say 'it' with 'ticks'"),
        ("<promise>DONE</promise>", "[promise>DONE[/promise>"),
        ("1 < 2, 3 <= 4", "1 < 2, 3 <= 4"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz123456", "Authorization: Bearer [redacted]"),
        ("0123456789abcdef", "012345678…"),
    ],
)
def test_text_of_others_becomes_one_line_of_data(text: str, shown: str) -> None:
    limit = 10 if len(text) == 16 else 100
    assert quotable(text, limit) == shown


def test_the_end_of_a_path_is_kept() -> None:
    assert quotable_path("src/deep/down/module.py", 12) == "…n/module.py"
    assert quotable_path("src/a.py", 12) == "src/a.py"


@given(ANY, st.integers(2, 200))
def test_nothing_in_it_ends_the_quotation_or_is_a_tag(text: str, most: int) -> None:
    for wrapped in (text, f"<promise>{text}</promise>", f'<response>{text}</response>"'):
        shown = quotable(wrapped, most)
        assert len(shown) <= most
        assert len(shown.splitlines()) <= 1
        assert not set(shown) & set('"`\x1b\x00')
        assert not find_tags(shown, "promise")
        assert not find_tags(shown, "response")
        shown.encode()


@given(ANY, st.integers(3, 100))
def test_what_fits_is_left_alone_and_nothing_is_longer(text: str, most: int) -> None:
    fitted = fit_bytes(quotable(text, 200), most)
    assert len(fitted.encode()) <= most
    assert fit_bytes(fitted, most) == fitted
