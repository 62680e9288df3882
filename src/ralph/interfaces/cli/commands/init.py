"""``ralph init``: asks for the first settings, or takes them from options with ``--yes``."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ralph.config.kinds import Reading
from ralph.config.loading import InvalidSettings, inspect
from ralph.config.root import Root, find_root
from ralph.config.schema import SETTINGS
from ralph.config.sources import LOCAL_FILE, SETTINGS_FILE
from ralph.domain.text.masking import mask_values
from ralph.domain.text.strict_json import BadJson, parse_json
from ralph.errors import UsageError
from ralph.interfaces.cli.init_questions import absent_line, ask, converse, is_yes
from ralph.interfaces.cli.options import (
    agent_flag_option,
    agent_option,
    guardrail_option,
    iteration_option,
    project_dir_option,
)
from ralph.interfaces.cli.termination import sigterm_as_ctrl_c
from ralph.operations.proposals import Proposals, propose_settings
from ralph.operations.settings_file import check_writable, settings_document, write_settings
from ralph.operations.trust import trust_written

if TYPE_CHECKING:
    from ralph.domain.text.reader import Problem

INTERRUPTED = 130


_EXAMPLE = "ralph init --yes --agent claude --guardrail 'make test'"


@click.command("init")
@project_dir_option
@click.option(
    "--yes", is_flag=True, help="Ask nothing: take the proposals, and the options below instead of them."
)
@click.option("--force", is_flag=True, help="With --yes: replace existing settings (the old file is kept).")
@agent_option(
    "The agent's program: claude, codex, amp, …; after a comma, its fallbacks.  [default: found on PATH]"
)
@click.option("--agent-command", "old_agent", metavar="COMMAND", hidden=True)
@agent_flag_option
@iteration_option("Stop a run after N iterations.  [default: 10]")
@click.option(
    "-c",
    "--completion-response",
    metavar="TEXT",
    help="What the agent says when it is done.  [default: DONE]",
)
@guardrail_option(
    "A command that must pass, or a JSON object with command, failAction and hint; instead of those that the project"
    " suggests"
)
@click.option("--scm-command", metavar="COMMAND", help="The version control program, e.g. git.")
@click.option(
    "--scm-task",
    "scm_tasks",
    multiple=True,
    metavar="TASK",
    help="What it does: commit, push, …; may be repeated.",
)
def command(project_dir: Path | None, yes: bool, force: bool, **answers: object) -> None:
    """Write .ralph/settings.json: which agent works here, and which commands must pass.

    Proposes an agent that is installed, and the checks that the project's own files name: Makefile, package.json,
    pyproject.toml, Cargo.toml, go.mod, tox, nox and pre-commit. Nothing of the project is run.

    Exit codes: 0 written, or left as it is · 2 it cannot be written, or the options are wrong · 130 interrupted

    \b
    Examples:
      ralph init
      ralph init --yes
      ralph init --yes --agent claude --guardrail 'make test'
    """
    root = find_root(Path.cwd(), project_dir)
    if yes:
        _from_options(root, force=force, **answers)  # type: ignore[arg-type]
        return
    if given := _given_answers(click.get_current_context()):
        message = f"{', '.join(given)} can only be used with --yes"
        raise UsageError(message, hint="leave it out to be asked, or add --yes")
    _from_questions(root)


def _given_answers(context: click.Context) -> list[str]:
    answers = (one for one in context.command.params if one.name not in ("project_dir", "yes", None))
    given = ParameterSource.COMMANDLINE
    return [one.opts[-1] for one in answers if context.get_parameter_source(str(one.name)) is given]


def _from_options(
    root: Root,
    *,
    force: bool,
    agent: str | None,
    old_agent: str | None,
    agent_flags: tuple[str, ...],
    max_iterations: int | None,
    completion_response: str | None,
    guardrails: tuple[str, ...],
    scm_command: str | None,
    scm_tasks: tuple[str, ...],
) -> None:
    proposed = propose_settings(root)
    agent = next((name for name in (agent, old_agent, *proposed.agents) if name is not None), None)
    if agent is None:
        message = "--yes needs --agent: none that ralph knows is on PATH"
        raise UsageError(message, hint=f"for example: {_EXAMPLE}")
    if bool(scm_command) != bool(scm_tasks):
        message = "--scm-command and --scm-task go together"
        raise UsageError(message, hint="for example: --scm-command git --scm-task commit")
    check_writable(root.state)
    if (root.state / SETTINGS_FILE).exists() and not force:
        message = f"{_shown(root, SETTINGS_FILE)} exists already"
        raise UsageError(message, hint="--force replaces it and keeps the old one beside it")
    taken = [_guardrail(text) for text in guardrails or (each.command for each in proposed.guardrails)]
    document = settings_document(
        agent=agent,
        flags=agent_flags,
        maximum_iterations=max_iterations,
        completion_response=completion_response,
        guardrails=taken,
        scm={"command": scm_command, "tasks": list(scm_tasks)} if scm_command else None,
        setup=proposed.setup,
    )
    _write(root, document)
    _say_proposed(proposed if not guardrails else proposed._replace(guardrails=(), absent=()))
    _say_what_comes_next(root, document)


def _say_proposed(proposed: Proposals) -> None:
    """What was taken unasked, and what was not."""
    if proposed.guardrails:
        listed = ", ".join(f"{each.command} ({each.source})" for each in proposed.guardrails)
        click.echo(f"Guardrails, as this project suggests: {listed}", err=True)
    if proposed.absent:
        click.echo(absent_line(proposed.absent), err=True)
    if proposed.setup:
        click.echo(f"Worktrees of `ralph work` are prepared by: {' && '.join(proposed.setup)}", err=True)


def _guardrail(text: str) -> dict[str, object]:
    """A JSON object as in the settings file, or just a command (which may begin with a brace, too)."""
    with contextlib.suppress(BadJson):
        value = parse_json(text).value
        if isinstance(value, dict):
            guardrail = {"command": "", "failAction": "APPEND", **value}
            if isinstance(guardrail["failAction"], str):
                guardrail["failAction"] = guardrail["failAction"].strip().upper()
            return {key: part for key, part in guardrail.items() if key != "hint" or part != ""}
    return {"command": text, "failAction": "APPEND"}


def _from_questions(root: Root) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        message = "`ralph init` asks questions and needs a terminal"
        raise UsageError(message, hint=f"without one, use flags: {_EXAMPLE}")
    check_writable(root.state)
    try:
        with sigterm_as_ctrl_c():
            if not _may_write(root):
                click.echo("Settings left as they are.")
                return
            click.echo()
            document = converse(propose_settings(root))
            click.echo()
            _write(root, document)
            _say_what_comes_next(root, document)
    except (KeyboardInterrupt, EOFError):
        click.echo()
        raise SystemExit(INTERRUPTED) from None


def _may_write(root: Root) -> bool:
    """Show the current settings and ask whether to replace them; true if there are none."""
    if not (root.state / SETTINGS_FILE).exists():
        return True
    # Show what is in the files, without the environment.
    found = inspect(root.state, environ={})
    if SETTINGS_FILE in found.files:
        click.echo(json.dumps(mask_values(found.merged.values), indent=2, ensure_ascii=False))
    for problem in (*found.problems, *found.warnings):
        click.echo(str(problem))
    if SETTINGS_FILE in found.files:
        overlay = " (with local overlay from settings.local.json)" if LOCAL_FILE in found.files else ""
        click.echo(f"Loaded from {SETTINGS_FILE}{overlay}")
    return is_yes(ask("Overwrite? (y/N): "))


def _write(root: Root, document: dict[str, object]) -> None:
    """Write nothing that the schema, and so ``ralph run``, would refuse."""
    problems: list[Problem] = []
    warnings: list[Problem] = []
    SETTINGS.read(document, Reading(lambda _: "", problems, warnings))
    if problems:
        raise InvalidSettings(problems)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    backup = write_settings(root.state, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    trust_written(root.state, document)
    click.echo(f"Settings written to {_shown(root, SETTINGS_FILE)}")
    if backup is not None:
        click.echo(f"The old settings are kept in {_shown(root, f'.ralph/{backup.name}')}")


def _say_what_comes_next(root: Root, document: dict[str, object]) -> None:
    """Warn of what keeps a run from starting or proving anything, and say how to start one."""
    from ralph.config.root import git_top
    from ralph.operations.doctor import missing_agent

    if git_top(root.workspace) is not None:
        name = _shown(root, SETTINGS_FILE)
        click.echo(f"Commit {name} to share it; the rest of .ralph stays out of git.", err=True)
    if absent := missing_agent(root):
        click.echo(f"warning: {absent}", err=True)
    if not document["guardrails"]:
        message = "no guardrails, so a run only has the agent's word; add commands that must succeed"
        click.echo(f"warning: {message}", err=True)
    here = find_root(Path.cwd()).state == root.state
    place = "" if here else f" --project-dir {shlex.quote(os.fspath(root.workspace))}"
    first = "install the agent, or name another with --agent, then " if absent else ""
    click.echo(f'Next: {first}ralph run{place} "Fix the failing tests"', err=True)


def _shown(root: Root, name: str) -> str:
    """Short if the project is the current directory, else the whole path."""
    return name if root.state == Path.cwd() else os.fspath(root.state / name)
