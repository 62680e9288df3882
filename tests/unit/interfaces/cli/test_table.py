"""The one renderer of tables: columns that align, fit the terminal, and never let it be taken over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.interfaces.cli.table import Cell, Column, render_table
from ralph.interfaces.cli.terminal import Look, display_width

PLAIN = Look(max_lines=None, max_chars=None)
COLUMNS = (Column("name"), Column("state"), Column("size", 1), Column("note", 2, rare=True), Column("why"))
ROW = ("alpha", Cell("good", "green"), "12", "", "because of a reason")


def table(*rows: Sequence[Cell | str], width: int | None = None, look: Look = PLAIN) -> list[str]:
    return render_table(COLUMNS, rows, look=look, width=width)


def test_columns_align_and_a_rare_one_is_shown_where_it_says_something() -> None:
    assert table(ROW, ("b", "bad", "", "", "")) == [
        "name   state  size  why",
        "alpha  good   12    because of a reason",
        "b      bad    -     -",
    ]
    assert table((*ROW[:3], "seen", ""))[0] == "name   state  size  note  why"


def test_wide_characters_take_two_columns() -> None:
    head, wide, _ = table(("理由", *ROW[1:]), ROW)
    assert head.index("state") == 7
    assert wide == "理由   good   12    because of a reason"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "alpha  good   12    because of a reason"),
        (38, "alpha  good   12    because of a rea…"),
        (34, "alpha  good   because of a reason"),
        (24, "alpha  good   because …"),
        (12, "a…  g…  be…"),
        (3, "a…"),
    ],
)
def test_a_narrow_terminal_loses_the_least_first(width: int, shown: str) -> None:
    assert table(ROW, width=width)[1] == shown


@pytest.mark.parametrize("folds", [True, False])
@given(data=st.data(), width=st.integers(2, 120), color=st.booleans())
def test_no_line_is_wider_than_the_terminal(
    folds: bool, data: st.DataObject, width: int, color: bool
) -> None:
    columns = [replace(column, folds=folds) for column in COLUMNS]
    cell = st.builds(Cell, st.text(max_size=60), st.sampled_from(["", "red", "dim"]))
    rows = data.draw(st.lists(st.tuples(*(cell for _ in columns)), max_size=4))
    for line in render_table(columns, rows, look=replace(PLAIN, color=color), width=width):
        assert display_width(re.sub(r"\x1b\[\d+m", "", line)) < width
        assert line.count("\x1b[0m") == len(re.findall(r"\x1b\[[1-9]\d*m", line))


def test_what_folds_is_all_there() -> None:
    columns = (Column("setting", folds=True), Column("value", folds=True), Column("source", folds=True))
    rows = [("agent.flags", '["--one", "--two", "--three", "--four"]', "default")]
    assert render_table(columns, rows, look=PLAIN, width=45) == [
        "setting      value                   source",
        'agent.flags  ["--one", "--two",      default',
        '             "--three", "--four"]',
    ]


def test_stored_text_cannot_take_over_the_terminal() -> None:
    evil = "\x1b]0;title\x07\x1b[2Jwiped\nsecond line\u202e"
    (_, line) = table((evil, Cell(evil, "red"), evil, evil, evil), look=replace(PLAIN, color=True))
    assert re.sub(r"\x1b\[(31|0)m", "", line).isprintable()
    assert "wiped second line" in line


def test_only_a_coloured_cell_is_coloured_and_only_where_colour_is_shown() -> None:
    assert table(ROW, look=replace(PLAIN, color=True))[1] == (
        "alpha  \x1b[32mgood\x1b[0m   12    because of a reason"
    )
    assert "\x1b" not in "".join(table(ROW))
