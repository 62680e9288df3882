"""The questions of ``ralph init``. Their wording and order are part of the interface, as scripts answer them.

Enter takes what is in brackets, so no question is asked twice because of an empty answer.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ralph.agent_names import USUAL_AGENT
from ralph.config.kinds import Kind, Reading, Table
from ralph.config.schema import SETTINGS, GuardrailSettings, Settings
from ralph.domain.loop.feedback import Placement
from ralph.operations.settings_file import settings_document

if TYPE_CHECKING:
    from ralph.domain.proposals.proposal import Proposal
    from ralph.domain.text.reader import Problem
    from ralph.operations.proposals import Proposals

_DEFAULTS = Settings()
_GUARDRAIL = Table(GuardrailSettings)
_USUAL_SCM = "git"
_USUAL_TASK = "commit"
_SKIP = "-"
_NARROWEST = 20
"""A terminal that a text can be wrapped for."""


def converse(proposed: Proposals) -> dict[str, object]:
    """Ask everything; gives the settings file's content."""
    _explain("Enter takes what is in [brackets]. Ctrl-C leaves everything as it is.")
    click.echo()
    return settings_document(
        agent=_ask_agent(proposed),
        flags=_ask_flags(),
        maximum_iterations=_ask_iterations(),
        completion_response=_ask_completion(),
        guardrails=list(_ask_guardrails(proposed)),
        scm=_ask_scm(),
        setup=_ask_setup(proposed),
    )


def ask(question: str) -> str:
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


def is_yes(answer: str) -> bool:
    """``(y/N)``: anything but a clear yes is a no."""
    return answer.strip().lower() in ("y", "yes")


def absent_line(absent: tuple[Proposal, ...]) -> str:
    """Why some of what the project names is not proposed."""
    listed = ", ".join(f"{each.command} ({each.program} is not on your PATH)" for each in absent)
    return f"Not proposed: {listed}"


def _ask_agent(proposed: Proposals) -> str:
    _explain("The program that does the work. Every iteration starts it with a fresh context.")
    if not proposed.agents:
        _explain("None that ralph knows is on your PATH; any command that reads a prompt works.")
    default = next(iter(proposed.agents), USUAL_AGENT)
    return _ask_with("Agent command (e.g., claude, codex, amp, or other LLM CLI)", default)


def _ask_flags() -> list[str]:
    _explain("More arguments for it, such as --model opus.")
    return _split_commas(ask("Agent flags (comma-separated, optional): "))


def _ask_iterations() -> object:
    _explain("The most sessions of the agent before a run stops, done or not.")
    default = _DEFAULTS.maximum_iterations
    return _ask_checked("Maximum iterations", SETTINGS.kind_of("maximum_iterations"), default)


def _ask_completion() -> str:
    _explain("What the agent says in <response>…</response> when everything is done.")
    return _ask_with("Completion response", _DEFAULTS.completion_response)


def _ask_guardrails(proposed: Proposals) -> Iterator[dict[str, object]]:
    _explain("Guardrails: commands that must pass, or ralph does not believe that it is done.")
    if proposed.guardrails:
        _explain(f"Those in [brackets] come from this project's files; {_SKIP} leaves one out.")
    if proposed.absent:
        _explain(absent_line(proposed.absent))
    waiting, explained = list(proposed.guardrails), False
    while True:
        if waiting:
            default = waiting[0].command
            command = _ask_with("Add guardrail command", default)
            if command in (default, _SKIP):
                del waiting[0]
            if command == _SKIP:
                continue
        elif not (command := ask("Add guardrail command (leave blank to finish): ").strip()):
            return
        yield _ask_about(command, explained=explained)
        explained = True


def _ask_about(command: str, *, explained: bool) -> dict[str, object]:
    """What else belongs to a guardrail; ``explained``: the user has been told what that is."""
    if not explained:
        where = "after your prompt (APPEND), before it (PREPEND) or instead of it (REPLACE)"
        _explain(f"If it fails, the next session reads its output {where}.", indent="  ")
    kind = _GUARDRAIL.kind_of("fail_action")
    action = _ask_checked("  Fail action (APPEND|PREPEND|REPLACE)", kind, Placement.APPEND, indent="  ")
    guardrail: dict[str, object] = {"command": command, "failAction": str(action)}
    if not explained:
        _explain("What the agent is told as well, such as: Do not change the tests.", indent="  ")
    if hint := ask("  Hint (optional, guidance for agent on failure): ").strip():
        guardrail["hint"] = hint
    return guardrail


def _ask_scm() -> dict[str, object] | None:
    _explain(
        "With git, ralph can commit whenever all guardrails pass; the agent writes the message. Without it, changes stay"
        " uncommitted."
    )
    if not is_yes(ask("Configure SCM? (y/N): ")):
        return None
    command = _ask_with("  SCM command (e.g., git)", _USUAL_SCM)
    tasks = _split_commas(_ask_with("  SCM tasks (comma-separated, e.g., commit,push)", _USUAL_TASK))
    return {"command": command, "tasks": tasks or [_USUAL_TASK]}


def _ask_setup(proposed: Proposals) -> tuple[str, ...]:
    """Only where there is something to propose: `ralph run` needs none."""
    if not proposed.setup:
        return ()
    _explain(f"`ralph work` gives each task a worktree of its own; this prepares it. {_SKIP} for nothing.")
    default = " && ".join(proposed.setup)
    answer = _ask_with("Worktree setup command", default)
    return proposed.setup if answer == default else () if answer == _SKIP else (answer,)


def _explain(text: str, *, indent: str = "") -> None:
    import textwrap

    from ralph.interfaces.cli.terminal import colors_of, detect_look, terminal_width

    colors = colors_of(detect_look(sys.stdout))
    width = max(terminal_width(sys.stdout), _NARROWEST)
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent):
        click.echo(f"{colors.dim}{line}{colors.off}")


def _ask_with(question: str, default: str) -> str:
    return ask(f"{question} [{default}]: ").strip() or default


def _ask_checked(question: str, kind: Kind[Any], default: object, *, indent: str = "") -> object:
    """Ask until the schema accepts the answer; blank means the default."""
    while True:
        answer = ask(f"{question} [{default}]: ").strip()
        if not answer:
            return default
        problems: list[Problem] = []
        value: object = kind.read(kind.parse(answer), Reading(lambda _: "", problems, []))
        if not problems:
            return value
        click.echo(indent + str(problems[0]))


def _split_commas(answer: str) -> list[str]:
    return [part.strip() for part in answer.split(",") if part.strip()]
