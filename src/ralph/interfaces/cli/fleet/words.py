"""The words of a command that another machine is to run: read by the command itself, so that mistakes are found here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import click

from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.options import prompt_of_words

KINDS = ("run", "supervise", "plan run", "ship")
EXAMPLE = 'for example: ralph fleet submit --repo URL -- run "Fix the failing tests" -m 20'
_REFUSED = {
    "project_dir": ("the repository is the project", "leave it out"),
    "task_dir": ("it names a folder of this machine", "leave it out"),
    "ui": ("nobody looks at a terminal of the worker's", "`ralph fleet logs -f JOB` shows the job"),
    "detach": ("a job needs no terminal anyway", "leave it out"),
    "as_json": ("nobody reads it on the worker", "`ralph fleet status --json` and `show --json` print JSON"),
    "dry_run": ("a job is there to be done", "leave it out"),
    "trust": ("whoever runs a worker decides what may run there", "leave it out"),
    "notify": ("it would happen on the worker", "set `notify` in the settings there"),
    "watch": ("nobody would end it", "`ralph fleet schedule` does something again and again"),
    "source": ("the fleet takes tickets in itself", "ralph fleet submit --from SOURCE"),
    "max_parallel": (
        "each task is a job of its own",
        "`ralph fleet worker --slots N` says how many at a time",
    ),
}
"""Options that make no sense on a worker, by the name of the parameter: why, and what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """``agent``: the first that is named; ``file``: what the worker reads the prompt from, in the repository."""

    words: tuple[str, ...]
    agent: str = ""
    title: str = ""
    file: PurePath | None = None


def read_command(words: Sequence[str]) -> Words:
    """A command for one job. Raises UsageError, or what click says of it."""
    if not words:
        message = "nothing to submit: give a command after `--`, or a file of tasks"
        raise UsageError(message, hint=EXAMPLE)
    if words[0].startswith("-"):  # as `ralph -p …` is `ralph run -p …`
        words = ["run", *words]
    name, rest = words[0], list(words[1:])
    if name == "plan" and rest[:1] == ["run"]:
        name, rest = "plan run", rest[1:]
    if name == "work":
        message = "`work` is not submitted: each of its tasks becomes a job of its own"
        raise UsageError(message, hint="submit the file: ralph fleet submit --repo URL tasks.yaml")
    if name not in KINDS:
        message = f"{clean_line(name)!r} cannot be submitted: use {', '.join(KINDS)}"
        raise UsageError(message, hint=EXAMPLE)
    rest = _with_stdin(_find(name), name, rest)
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
    if flags and not flags[0].startswith("-"):
        message = f"with tasks, only options of `ralph work` follow `--`, not {clean_line(flags[0])!r}"
        raise UsageError(
            message, hint="such as: ralph fleet submit tasks.yaml -- --agent claude --max-cost 5"
        )
    context = _read(_find("work"), "work", flags)
    if context.params["tasks"]:
        message = f"{clean_line(context.params['tasks'][0])!r} is no option of `ralph work`"
        raise UsageError(message, hint="every task of the file becomes a job")
    return Words(words=tuple(flags), agent=_agent(context.params))


def _find(name: str) -> click.Command:
    from importlib import import_module

    module = "plans.run" if name == "plan run" else f"commands.{name}"
    command = import_module(f"ralph.interfaces.cli.{module}").command
    assert isinstance(command, click.Command)
    return command


def _read(command: click.Command, name: str, words: Sequence[str]) -> click.Context:
    _refuse(command, name, words)
    context = command.make_context(f"ralph {name}", list(words))
    kinds = [
        value for path, value, _ in context.meta.get("ralph.settings", ()) if path == ("sandbox", "kind")
    ]
    if "none" in kinds:
        message = "a job cannot do without a sandbox: whoever runs a worker decides that"
        raise UsageError(message, hint="`ralph fleet worker --sandbox none` allows it on that machine")
    return context


def _refuse(command: click.Command, name: str, words: Sequence[str]) -> None:
    """Before any option does something here."""
    parser = command.make_parser(click.Context(command, info_name=f"ralph {name}"))
    given, _, _ = parser.parse_args(args=list(words))
    for parameter in command.get_params(click.Context(command)):
        if parameter.name in _REFUSED and parameter.name in given and isinstance(parameter, click.Option):
            why, hint = _REFUSED[parameter.name]
            message = f"{max(parameter.opts, key=len)} is not for jobs: {why}"
            raise UsageError(message, hint=hint)


def _with_stdin(command: click.Command, name: str, words: list[str]) -> list[str]:
    """`-f -` is read here: nobody types at a worker."""
    end = words.index("--") if "--" in words else len(words)
    for place, word in enumerate(words[:end]):
        taken = 2 if word in ("-f", "--prompt-file") and words[place + 1 : place + 2] == ["-"] else 0
        taken = 1 if word in ("-f-", "--prompt-file=-") else taken
        if taken:
            _refuse(command, name, words)
            text = sys.stdin.buffer.read().decode(errors="surrogateescape")
            if not text.strip():
                message = "the prompt on standard input is empty"
                raise UsageError(message, hint="say what the agent should do")
            return [*words[:place], f"--prompt={text}", *words[place + taken :]]
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
