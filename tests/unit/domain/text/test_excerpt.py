from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.text.excerpt import TRUNCATION_MARK, Excerpt, Keep, truncate


@pytest.mark.parametrize(
    ("text", "limit", "keep", "cut"),
    [
        ("abcdef", 6, Keep.HEAD, "abcdef"),
        ("abcdef", 3, Keep.HEAD, "abc... [truncated]"),
        ("äöüß", 2, Keep.HEAD, "äö... [truncated]"),
        ("abcdef", 3, Keep.TAIL, "... [truncated]\ndef"),
        ("abcdef", 3, Keep.BOTH, "a\n... [truncated]\nef"),
        ("", 1, Keep.BOTH, ""),
    ],
)
def test_long_text_is_cut_in_characters_at_the_chosen_end(
    text: str, limit: int, keep: Keep, cut: str
) -> None:
    assert truncate(text, limit, keep) == cut


@given(st.text(max_size=200), st.integers(1, 220), st.sampled_from(Keep))
def test_text_within_the_limit_is_untouched_and_longer_text_is_marked(
    text: str, limit: int, keep: Keep
) -> None:
    cut = truncate(text, limit, keep)
    if len(text) <= limit:
        assert cut == text
    else:
        assert TRUNCATION_MARK in cut
        assert len(cut) <= limit + len(TRUNCATION_MARK) + 2


@given(st.lists(st.text(max_size=3000), max_size=12), st.integers(1, 500), st.sampled_from(Keep))
def test_pieces_give_the_same_as_the_whole(pieces: list[str], limit: int, keep: Keep) -> None:
    excerpt = Excerpt(limit, keep)
    for piece in pieces:
        excerpt.add(piece)
    assert excerpt.text() == truncate("".join(pieces), limit, keep)


def test_a_full_head_needs_no_more_text() -> None:
    excerpt = Excerpt(3)
    excerpt.add("abc")
    assert not excerpt.is_full
    excerpt.add("d")
    assert excerpt.is_full
