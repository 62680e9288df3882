"""``ralph init``: asks for the first settings, or takes them from options with ``--yes``."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click
from click.core import ParameterSource

from ralph.config.guardrail_candidates import candidates, project_reader
from ralph.config.kinds import Kind, Reading, Table
from ralph.config.loading import InvalidSettings, inspect
from ralph.config.root import Root, find_root
from ralph.config.schema import SETTINGS, GuardrailSettings, Settings
from ralph.config.sources import LOCAL_FILE, SETTINGS_FILE
from ralph.domain.text.masking import mask_values
from ralph.domain.text.reader import Problem
from ralph.domain.text.strict_json import BadJson, parse_json
from ralph.errors import UsageError
from ralph.interfaces.cli.options import project_dir_option
from ralph.operations.settings_file import check_writable, write_settings
from ralph.operations.trust import trust_written

INTERRUPTED = 130


_DEFAULTS = Settings()
_GUARDRAIL = Table(GuardrailSettings)
_EXAMPLE = "ralph init --yes --agent-command claude --guardrail 'make test'"


@click.command("init")
@project_dir_option
@click.option("--yes", is_flag=True, help="Ask nothing; take the answers from the options below.")
@click.option("--force", is_flag=True, help="With --yes: replace existing settings (the old file is kept).")
@click.option("--agent-command", metavar="COMMAND", help="The agent's program: claude, codex, amp, …")
@click.option(
    "--agent-flag",
    "agent_flags",
    multiple=True,
    metavar="FLAG",
    help="An argument for the agent; may be repeated.",
)
@click.option(
    "--maximum-iterations", type=int, metavar="N", help="Stop a run after N iterations.  [default: 10]"
)
@click.option(
    "--completion-response", metavar="TEXT", help="What the agent says when it is done.  [default: DONE]"
)
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="COMMAND",
    help="A command that must pass, or a JSON object with command, failAction and hint; may be repeated.",
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
    """Write .ralph/settings.json: ask for what belongs in it, or take it from options with --yes.

    \b
    Examples:
      ralph init
      ralph init --yes --agent-command claude --guardrail 'make test'
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
    return [one.opts[0] for one in answers if context.get_parameter_source(str(one.name)) is given]


def _from_options(
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
    document = _settings_document(
        command=agent_command,
        flags=agent_flags,
        maximum_iterations=maximum_iterations,
        completion_response=completion_response,
        guardrails=[_guardrail(text) for text in guardrails],
        scm={"command": scm_command, "tasks": list(scm_tasks)} if scm_command else None,
    )
    _write(root, document)


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
        with _sigterm_as_ctrl_c():
            if not _may_write(root):
                click.echo("Settings left as they are.")
                return
            click.echo()
            document = _converse(candidates(project_reader(root.workspace)))
            click.echo()
            _write(root, document)
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
    return _is_yes(_ask("Overwrite? (y/N): "))


def _ask(question: str) -> str:
    # Lets arrow keys edit the line; otherwise they would end up in the settings as escape codes.
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
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """SIGTERM ends the questions like Ctrl-C and leaves the terminal in order."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
    _say_what_comes_next(root, document)


def _say_what_comes_next(root: Root, document: dict[str, object]) -> None:
    """Warn of what keeps a run from starting or proving anything, and say how to start one."""
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
    """Short if the project is the current directory, else the whole path."""
    return name if root.state == Path.cwd() else os.fspath(root.state / name)


# --- the questions; their wording is part of the interface, as scripts answer them ---


def _converse(found: Sequence[str] = ()) -> dict[str, object]:
    """Ask everything; gives the settings file's content. ``found``: likely guardrails."""
    command = _ask_required(
        "Agent command (e.g., claude, codex, amp, or other LLM CLI): ", "an agent command is needed"
    )
    flags = _split_commas(_ask("Agent flags (comma-separated, optional): "))
    iterations = _ask_checked(
        f"Maximum iterations [{_DEFAULTS.maximum_iterations}]: ",
        SETTINGS.kind_of("maximum_iterations"),
        default=_DEFAULTS.maximum_iterations,
    )
    completion = _ask(f"Completion response [{_DEFAULTS.completion_response}]: ").strip()
    return _settings_document(
        command=command,
        flags=flags,
        maximum_iterations=iterations,
        completion_response=completion or None,
        guardrails=_ask_guardrails(found),
        scm=_ask_scm(),
    )


def _is_yes(answer: str) -> bool:
    """``(y/N)``: anything but a clear yes is a no."""
    return answer.strip().lower() in ("y", "yes")


def _split_commas(answer: str) -> list[str]:
    return [part.strip() for part in answer.split(",") if part.strip()]


def _settings_document(
    *,
    command: str,
    flags: Sequence[str],
    maximum_iterations: object | None,
    completion_response: str | None,
    guardrails: Sequence[dict[str, object]],
    scm: dict[str, object] | None,
) -> dict[str, object]:
    """The settings file's content, keys in the order of the documentation."""
    limit = _DEFAULTS.maximum_iterations if maximum_iterations is None else maximum_iterations
    response = _DEFAULTS.completion_response if completion_response is None else completion_response
    document: dict[str, object] = {
        "maximumIterations": limit,
        "completionResponse": response,
        "outputTruncateChars": _DEFAULTS.output_truncate_chars,
        "streamAgentOutput": _DEFAULTS.stream_agent_output,
        "includeIterationCountInPrompt": _DEFAULTS.include_iteration_count_in_prompt,
        "agent": {"command": command, "flags": list(flags)},
        "guardrails": list(guardrails),
    }
    if scm is not None:
        document["scm"] = scm
    return document


def _ask_guardrails(found: Sequence[str]) -> list[dict[str, object]]:
    if found:
        click.echo(f"Found in this project: {', '.join(found)}")
    guardrails: list[dict[str, object]] = []
    while command := _ask("Add guardrail command (leave blank to finish): ").strip():
        fail_action = _ask_checked(
            "  Fail action (APPEND|PREPEND|REPLACE): ", _GUARDRAIL.kind_of("fail_action"), indent="  "
        )
        guardrail: dict[str, object] = {"command": command, "failAction": str(fail_action)}
        if hint := _ask("  Hint (optional, guidance for agent on failure): ").strip():
            guardrail["hint"] = hint
        guardrails.append(guardrail)
    return guardrails


def _ask_scm() -> dict[str, object] | None:
    if not _is_yes(_ask("Configure SCM? (y/N): ")):
        return None
    command = _ask_required("  SCM command (e.g., git): ", "  an SCM command is needed")
    tasks: list[str] = []
    while not tasks:
        tasks = _split_commas(_ask("  SCM tasks (comma-separated, e.g., commit,push): "))
        if not tasks:
            click.echo("  at least one task is needed")
    return {"command": command, "tasks": tasks}


def _ask_required(question: str, reason: str) -> str:
    while True:
        if answer := _ask(question).strip():
            return answer
        click.echo(reason)


def _ask_checked(question: str, kind: Kind[Any], *, default: object = None, indent: str = "") -> object:
    """Ask until the schema accepts the answer; blank means the default, if there is one."""
    while True:
        answer = _ask(question).strip()
        if not answer and default is not None:
            return default
        problems: list[Problem] = []
        value: object = kind.read(kind.parse(answer), Reading(lambda _: "", problems, []))
        if not problems:
            return value
        click.echo(indent + str(problems[0]))
