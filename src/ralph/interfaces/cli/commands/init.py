"""``ralph init``: asks for the first settings, or takes them from flags with ``--yes``."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import click
from click.core import ParameterSource

from ralph.config.guardrail_candidates import candidates, project_reader
from ralph.config.kinds import Reading
from ralph.config.loading import Inspection, InvalidSettings, inspect
from ralph.config.root import Root, find_root
from ralph.config.schema import SETTINGS, Settings
from ralph.config.sources import LOCAL_FILE, SETTINGS_FILE
from ralph.domain.text.reader import Problem
from ralph.domain.text.secret_names import redact
from ralph.domain.text.strict_json import BadJson, parse_json
from ralph.errors import UsageError
from ralph.interfaces.cli.init_conversation import confirmed, converse, settings_document
from ralph.interfaces.cli.options import project_dir_option
from ralph.operations.settings_file import check_writable, write_settings

INTERRUPTED = 130

_EXAMPLE = "ralph init --yes --agent-command claude --guardrail 'make test'"


@click.command("init")
@project_dir_option
@click.option("--yes", is_flag=True, help="Ask nothing; take the answers from the options below.")
@click.option("--force", is_flag=True, help="With --yes: replace existing settings (the old file is kept).")
@click.option("--agent-command", metavar="COMMAND", help="The agent's program: claude, codex, amp, …")
@click.option("--agent-flag", "agent_flags", multiple=True, metavar="FLAG", help="More arguments for it.")
@click.option("--maximum-iterations", type=int, metavar="N", help="Iterations before giving up. [10]")
@click.option("--completion-response", metavar="TEXT", help="What the agent says when it is done. [DONE]")
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="COMMAND",
    help="A command that must succeed; or a JSON object with command, failAction and hint.",
)
@click.option("--scm-command", metavar="COMMAND", help="The version control program, e.g. git.")
@click.option("--scm-task", "scm_tasks", multiple=True, metavar="TASK", help="What it does: commit, push, …")
def command(project_dir: Path | None, yes: bool, force: bool, **answers: object) -> None:
    """Write .ralph/settings.json, asking for what belongs in it."""
    root = find_root(Path.cwd(), project_dir)
    if yes:
        _scripted(root, force=force, **answers)  # type: ignore[arg-type]
        return
    if given := _given_answers(click.get_current_context()):
        message = f"{', '.join(given)} can only be used with --yes"
        raise UsageError(message, hint="leave it out to be asked, or add --yes")
    _interactive(root)


def _given_answers(context: click.Context) -> list[str]:
    from_flags = (p for p in context.command.params if p.name not in ("project_dir", "yes"))
    return [p.opts[0] for p in from_flags if p.name and _is_given(context, p.name)]


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _scripted(
    root: Root,
    *,
    force: bool,
    agent_command: str | None,
    agent_flags: tuple[str, ...],
    maximum_iterations: int | None,
    completion_response: str | None,
    guardrails: tuple[str, ...],
    scm_command: str | None,
    scm_tasks: tuple[str, ...],
) -> None:
    if agent_command is None:
        message = "--yes needs --agent-command"
        raise UsageError(message, hint=f"for example: {_EXAMPLE}")
    if bool(scm_command) != bool(scm_tasks):
        message = "--scm-command and --scm-task go together"
        raise UsageError(message, hint="for example: --scm-command git --scm-task commit")
    check_writable(root.state)
    if (root.state / SETTINGS_FILE).exists() and not force:
        message = f"{_shown(root, SETTINGS_FILE)} exists already"
        raise UsageError(message, hint="--force replaces it and keeps the old one beside it")
    defaults = Settings()
    _write(
        root,
        settings_document(
            command=agent_command,
            flags=agent_flags,
            maximum_iterations=(
                defaults.maximum_iterations if maximum_iterations is None else maximum_iterations
            ),
            completion_response=(
                defaults.completion_response if completion_response is None else completion_response
            ),
            guardrails=[_guardrail(text) for text in guardrails],
            scm={"command": scm_command, "tasks": list(scm_tasks)} if scm_command else None,
        ),
    )


def _guardrail(text: str) -> dict[str, object]:
    """A JSON object as in the settings file, or just the command (which may begin with a brace too)."""
    with contextlib.suppress(BadJson):
        value = parse_json(text).value
        if isinstance(value, dict):
            guardrail = {"command": "", "failAction": "APPEND", **value}
            if isinstance(guardrail["failAction"], str):
                guardrail["failAction"] = guardrail["failAction"].strip().upper()
            return {key: part for key, part in guardrail.items() if key != "hint" or part != ""}
    return {"command": text, "failAction": "APPEND"}


def _interactive(root: Root) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        message = "`ralph init` asks questions and needs a terminal"
        raise UsageError(message, hint=f"without one, use flags: {_EXAMPLE}")
    check_writable(root.state)
    try:
        with _terminated_is_interrupted():
            if not _may_write(root):
                click.echo("Settings left as they are.")
                return
            click.echo()
            document = converse(_ask, click.echo, found=candidates(project_reader(root.workspace)))
            click.echo()
            _write(root, document)
    except (KeyboardInterrupt, EOFError):
        click.echo()
        raise SystemExit(INTERRUPTED) from None


def _may_write(root: Root) -> bool:
    """Shows what is there and asks; nothing there is a yes."""
    if not (root.state / SETTINGS_FILE).exists():
        return True
    # The environment is not in the files, so it is not shown.
    found = inspect(root.state, environ={})
    if SETTINGS_FILE in found.files:
        click.echo(json.dumps(redact(found.merged.values), indent=2, ensure_ascii=False))
    for problem in (*found.problems, *found.warnings):
        click.echo(str(problem))
    _say_what_was_loaded(found)
    return confirmed(_ask("Overwrite? (y/N): "))


def _say_what_was_loaded(found: Inspection) -> None:
    if SETTINGS_FILE in found.files:
        overlay = " (with local overlay from settings.local.json)" if LOCAL_FILE in found.files else ""
        click.echo(f"Loaded from {SETTINGS_FILE}{overlay}")


def _ask(question: str) -> str:
    # Editing a line with arrow keys; without it they would end up in the settings as escape codes.
    with contextlib.suppress(ImportError):
        import readline

        readline.parse_and_bind("set enable-bracketed-paste off")
    while True:
        try:
            answer = input(question)
            answer.encode()
        except UnicodeError:
            click.echo("that was not valid text in this terminal's encoding")
        else:
            return answer


@contextlib.contextmanager
def _terminated_is_interrupted() -> Iterator[None]:
    """SIGTERM ends the conversation like Ctrl-C, so that the terminal is left in order."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _write(root: Root, document: dict[str, object]) -> None:
    """The last word is the schema's: nothing is written that ``ralph run`` would refuse."""
    problems: list[Problem] = []
    warnings: list[Problem] = []
    SETTINGS.read(document, Reading(lambda _: "", problems, warnings))
    if problems:
        raise InvalidSettings(problems)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    backup = write_settings(root.state, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    click.echo(f"Settings written to {_shown(root, SETTINGS_FILE)}")
    if backup is not None:
        click.echo(f"The old ones are kept in {_shown(root, f'.ralph/{backup.name}')}")
    _say_what_comes_next(root, document)


def _say_what_comes_next(root: Root, document: dict[str, object]) -> None:
    """What would keep a run from starting or from proving anything, and how to start one."""
    from ralph.operations.doctor import missing_agent

    if reason := missing_agent(root):
        click.echo(f"warning: {reason}", err=True)
    if not document["guardrails"]:
        found = ", ".join(candidates(project_reader(root.workspace)))
        like = f" (found in this project: {found})" if found else ""
        message = f"no guardrails, so a run only has the agent's word; add commands that must succeed{like}"
        click.echo(f"warning: {message}", err=True)
    prompt = f"What to do. When it is done, output <response>{document['completionResponse']}</response>."
    here = find_root(Path.cwd()).state == root.state
    place = "" if here else f" --project-dir {shlex.quote(os.fspath(root.workspace))}"
    click.echo(f"Next: ralph run{place} -p {shlex.quote(prompt)}", err=True)


def _shown(root: Root, name: str) -> str:
    """Short where the project is the current directory, else the whole path."""
    return name if root.state == Path.cwd() else os.fspath(root.state / name)
