"""The help of every command on a terminal of the usual width."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from ralph.interfaces.cli.command_table import command_line
from ralph.interfaces.cli.front_page import front_page


def _contexts(command: click.Command, parent: click.Context | None, name: str) -> Iterator[click.Context]:
    context = click.Context(command, parent=parent, info_name=name, terminal_width=80)
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _contexts(found, context, below)


def test_no_line_of_help_is_wider_than_a_terminal() -> None:
    helps = {each.command_path: each.get_help() for each in _contexts(command_line(), None, "ralph")}
    assert len(helps) > 40
    wide = [f"{path}: {row}" for path, text in helps.items() for row in text.split("\n") if len(row) > 80]
    assert wide == []


@pytest.mark.parametrize(
    "columns", [1, 20, 52, 53, 60, 77, 79, 80, 81, 90, 100, 109, 110, 111, 112, 113, 200]
)
def test_the_front_page_is_what_click_would_print(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    table = command_line()
    assert (
        front_page(columns) == table.get_help(table.make_context("ralph", [], resilient_parsing=True)) + "\n"
    )
