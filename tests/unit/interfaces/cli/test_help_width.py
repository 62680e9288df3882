"""The help of every command on a terminal of the usual width."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ralph.interfaces.cli.main import _command_line


def _contexts(command: click.Command, parent: click.Context | None, name: str) -> Iterator[click.Context]:
    context = click.Context(command, parent=parent, info_name=name, terminal_width=80)
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _contexts(found, context, below)


def test_no_line_of_help_is_wider_than_a_terminal() -> None:
    helps = {each.command_path: each.get_help() for each in _contexts(_command_line(), None, "ralph")}
    assert len(helps) > 40
    wide = [f"{path}: {row}" for path, text in helps.items() for row in text.split("\n") if len(row) > 80]
    assert wide == []
