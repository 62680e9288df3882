"""Lines broken to a width, and small charts."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from ralph.interfaces.tui.lines import cut, wrap
from ralph.interfaces.tui.marks import bar, clock_time, sparkline

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs", "Mn", "Me", "Cf", "Zl", "Zp"]), max_size=200)


@given(TEXT, st.integers(8, 60), st.integers(0, 12))
def test_no_row_is_wider_than_the_screen_and_no_word_is_lost(text: str, width: int, indent: int) -> None:
    rows = wrap(text, width, indent)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("", 10, [""]),
        ("short", 10, ["short"]),
        ("breaks at a space", 10, ["breaks at", "a space"]),
        ("unbreakableword", 10, ["unbreakabl", "eword"]),
        ("日本語日本語", 8, ["日本語日", "本語"]),
        ("a\tb", 10, ["a    b"]),
    ],
)
def test_lines_are_broken_where_one_expects(text: str, width: int, rows: list[str]) -> None:
    assert wrap(text, width) == rows


def test_what_follows_the_first_row_is_indented() -> None:
    assert wrap("● Read a file of a long name", 14, 2) == ["● Read a file", "  of a long", "  name"]


@example("𠀀0", 2)
@given(TEXT, st.integers(0, 40))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([0, 0], "▁▁"),
        ([1, 2, 4], "▃▅█"),
        ([float("nan"), -1, float("inf"), 1], "▁▁▁█"),
        (list(range(100)), "████████"),
    ],
)
def test_a_sparkline_shows_the_newest_values(values: list[float], line: str) -> None:
    assert sparkline(values, 8) == line


@given(st.floats(), st.integers(1, 40))
def test_a_gauge_is_as_wide_as_it_should_be(share: float, width: int) -> None:
    filled, empty = bar(share, width)
    assert len(filled + empty) == width
    assert bool(filled) or not share * width * 8 > 1


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e300, -1e300])
def test_a_number_that_is_no_time_is_shown_as_none(at: float) -> None:
    assert clock_time(at, None) == "--:--:--"
