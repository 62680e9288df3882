"""The room for foreign text in one answer: bounded as JSON, whatever it is made of, and harmless."""

from __future__ import annotations

import msgspec.json
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.text.safe_text import is_harmless
from ralph.interfaces.mcp.answers import Room

MOST = 500


@given(st.lists(st.text(max_size=300), max_size=40), st.integers(1, 120))
def test_all_that_fits_is_told_and_the_whole_stays_within_it(texts: list[str], longest: int) -> None:
    room = Room(MOST)
    told = [room.block(text, longest) for text in texts]
    sizes = [len(msgspec.json.encode(text)) - 2 for text in told if text != "…"]
    assert sum(sizes) <= MOST
    assert all(len(text) <= longest and is_harmless(text) for text in told)


def test_what_comes_first_gets_what_it_needs_and_nothing_follows_what_was_cut() -> None:
    room = Room(10)
    assert [room.line(text) for text in ("12345", "123456", "1", "")] == ["12345", "…", "…", ""]
    assert room.is_full


def test_a_line_stays_one_and_a_block_keeps_its_lines() -> None:
    room = Room()
    assert room.line("a\n\x1b[31mb\tc") == "a b c"
    assert room.block("a\n\x1b[31mb\tc") == "a\nb\tc"
    assert room.line("x" * 400) == "x" * 299 + "…"


def test_a_row_is_told_whole_or_not_at_all() -> None:
    room = Room(10)
    assert room.rows(["1234", "5678", "90123"], lambda name: {"id": room.line(name)}) == [
        {"id": "1234"},
        {"id": "5678"},
    ]
