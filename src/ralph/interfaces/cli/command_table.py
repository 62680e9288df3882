"""The table of commands, each loaded when it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import click

from ralph import __version__
from ralph.interfaces.cli.front_page import COMMANDS, HELP, MOST_COLUMNS


class CommandTable(click.Group):
    """Commands by name, each with its short help: listing them imports none.

    The module is ``<package>/<name>.py`` and has a ``command``, unless ``homes`` says which module has it by name, or as
    ``module:attribute``.
    """

    def __init__(
        self,
        name: str,
        table: Mapping[str, str],
        *,
        package: str,
        homes: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self._table, self._package, self._homes = table, package, homes or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._table:
            return None
        home, _, attribute = self._homes.get(cmd_name, f"{cmd_name}:command").partition(":")
        module = importlib.import_module(f"ralph.interfaces.cli.{self._package}.{home}")
        command = getattr(module, attribute or cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._table and not ctx.resilient_parsing:
            ctx.fail(_no_such_command(args[0], self._table))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._table.items()))


class _Ralph(CommandTable):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # `ralph -p …` means `ralph run -p …`.
        if args and args[0].startswith("-"):
            args = ["run", *args]
        if args and " " in args[0] and not ctx.resilient_parsing:
            import shlex

            ctx.fail(f"No such command. To give it as a prompt: ralph run {shlex.quote(args[0])}")
        return super().resolve_command(ctx, args)


def _no_such_command(name: str, known: Iterable[str]) -> str:
    import difflib

    close = ["--help"] if name == "help" else difflib.get_close_matches(name.lower(), known, n=1)
    suggestion = f" Did you mean `{close[0]}`?" if close else ""
    return f"No such command {name!r}.{suggestion}"


def command_line() -> click.Group:
    version = click.Option(
        ["-v", "--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version and exit.",
    )
    return _Ralph(
        "ralph",
        COMMANDS,
        package="commands",
        homes={
            **dict.fromkeys(("stop", "pause", "unpause", "steer"), "run_requests"),
            "import": "import_:command",
        },
        help=HELP,
        # Every command inherits the first two. What the group does not know is for the default command.
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": MOST_COLUMNS,
            "ignore_unknown_options": True,
        },
        params=[version],
    )


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"ralph {__version__}")
        ctx.exit()
