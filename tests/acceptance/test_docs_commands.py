"""Every command line that a page shows is one that ralph knows: command, subcommand and options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from ralph.interfaces.cli.command_table import command_line
from ralph.interfaces.cli.front_page import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
IN_A_BLOCK = re.compile(r"^[ \t]*(?:- )?(?:run: |\$ )?(?:\w+=\S+ )*(ralph [^\n]*)", re.MULTILINE)
QUOTED = re.compile(r"""(["']).*?(?:\1|$)""")
IN_A_SENTENCE = re.compile(r"(?<!`)`(ralph [^`]+)`(?!`)")


def command_lines(page: Path) -> list[str]:
    text = page.read_text().replace("\\|", "|")  # as a table writes it
    blocks = BLOCK.findall(text)
    return [
        *(line for block in blocks for line in IN_A_BLOCK.findall(block)),
        *(" ".join(words.split()) for words in IN_A_SENTENCE.findall(BLOCK.sub("", text))),
    ]


def words_of(line: str) -> list[str]:
    """Without what a shell or a reader takes away: comments, pipes, brackets, descriptions in a column of their own."""
    line = re.split(r"\s{2,}", QUOTED.sub("VALUE", line))[0].split(" #")[0]
    words = re.split(r"\s[|>&;]|…", line.rstrip("\\"))[0].split()
    return [word.strip("[].,") for word in words][1:]


def unknown_in(words: list[str]) -> str | None:
    """What of it ralph does not know. Values are not looked at: they stand for the reader's own."""
    command: click.Command = command_line()
    context = click.Context(command, info_name="ralph")
    for word in words:
        if word == "--":
            return None
        if word.startswith("-"):
            name = word.split("=")[0]
            known = {
                option
                for parameter in command.get_params(context)
                for option in (*parameter.opts, *parameter.secondary_opts)
            }
            if name not in known and not (not name.startswith("--") and name[:2] in known):
                return name
        elif isinstance(command, click.Group):
            for choice in word.split("|"):
                found = command.get_command(context, choice)
                if found is None:
                    return choice if choice.islower() else None
            assert found is not None
            command, context = found, click.Context(found, info_name=word, parent=context)
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_line_in_a_page_is_known(page: Path) -> None:
    unknown = {line: word for line in command_lines(page) if (word := unknown_in(words_of(line)))}
    assert not unknown


def test_an_unknown_option_and_an_unknown_command_would_be_found() -> None:
    assert unknown_in(words_of("ralph run -p hello --no-such-thing")) == "--no-such-thing"
    assert unknown_in(words_of("ralph plan walk")) == "walk"
    assert unknown_in(words_of("ralph run -m 3 --max-cost 5 # as said")) is None


def test_the_page_of_commands_lists_every_command() -> None:
    shown = set(re.findall(r"`(?:ralph )?([a-z]+)[^`]*`", (ROOT / "docs" / "commands.md").read_text()))
    assert set(COMMANDS) <= shown
