"""The words of a command that another machine is to run: read by the command itself, so that mistakes are found here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

import click

from ralph.domain.fleet.address import Refusal
from ralph.domain.fleet.commands import EXAMPLE, refusal_of_command, refusal_of_flags, split_command
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.options import prompt_of_words
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """``agent``: the first that is named; ``file``: what the worker reads the prompt from, in the repository."""

    words: tuple[str, ...]
    agent: str = ""
    title: str = ""
    file: PurePath | None = None


def read_command(words: Sequence[str]) -> Words:
    """A command for one job. Raises UsageError, or what click says of it."""
    if words and words[0].startswith("-"):  # as `ralph -p …` is `ralph run -p …`
        words = ["run", *words]
    _require(refusal_of_command(words))
    name, rest = split_command(words)
    rest = _with_stdin(rest)
    context = _read(_find(name), name, rest)
    given = context.params
    prompt, file = given.get("prompt"), given.get("prompt_file")
    if name == "run":
        prompt = prompt_of_words(given["words"], prompt, file)
    if prompt is not None and file is not None:
        message = "only one of --prompt and --prompt-file can be given"
        raise UsageError(message, hint="put everything into the file")
    if name in ("run", "supervise") and prompt is None and file is None and not given.get("command_line"):
        message = "a prompt is needed: what should the agent do?"
        raise UsageError(message, hint=EXAMPLE)
    return Words(
        words=(*name.split(), *rest),
        agent=_agent(given),
        title="" if prompt is None else next(iter(prompt.strip().splitlines()), ""),
        file=None if file is None else _inside(file),
    )


def read_flags(flags: Sequence[str]) -> Words:
    """Options of `ralph work`, for the jobs of tasks. Raises UsageError, or what click says of them."""
    _require(refusal_of_flags(flags))
    context = _read(_find("work"), "work", flags)
    return Words(words=tuple(flags), agent=_agent(context.params))


def _find(name: str) -> click.Command:
    from importlib import import_module

    module = "plans.run" if name == "plan run" else f"commands.{name}"
    command = import_module(f"ralph.interfaces.cli.{module}").command
    assert isinstance(command, click.Command)
    return command


def _read(command: click.Command, name: str, words: Sequence[str]) -> click.Context:
    context = command.make_context(f"ralph {name}", list(words))
    kinds = [
        value for path, value, _ in context.meta.get("ralph.settings", ()) if path == ("sandbox", "kind")
    ]
    if "none" in kinds:
        message = "a job cannot do without a sandbox: whoever runs a worker decides that"
        raise UsageError(message, hint="`ralph fleet worker --sandbox none` allows it on that machine")
    return context


def _require(refusal: Refusal | None) -> None:
    """Before any option does something here."""
    if refusal is not None:
        raise UsageError(refusal.message, hint=refusal.hint)


def _with_stdin(words: tuple[str, ...]) -> tuple[str, ...]:
    """`-f -` is read here: nobody types at a worker."""
    end = words.index("--") if "--" in words else len(words)
    for place, word in enumerate(words[:end]):
        taken = 2 if word in ("-f", "--prompt-file") and words[place + 1 : place + 2] == ("-",) else 0
        taken = 1 if word in ("-f-", "--prompt-file=-") else taken
        if taken:
            text = sys.stdin.buffer.read().decode(errors="surrogateescape")
            if not text.strip():
                message = "the prompt on standard input is empty"
                raise UsageError(message, hint="say what the agent should do")
            return (*words[:place], f"--prompt={text}", *words[place + taken :])
    return words


def _inside(file: Path) -> PurePath:
    """Raises UsageError if it cannot be a file of the repository."""
    path = PurePath(file)
    if path.is_absolute() or ".." in path.parts or path == PurePath("-"):
        message = f"{clean_line(str(file))} is not a file of the repository"
        raise UsageError(
            message, hint="give its path in the repository, or the text on standard input with `-f -`"
        )
    return path


def _agent(given: dict[str, object]) -> str:
    return str(given.get("agent") or "").partition(",")[0].strip()
