"""``ralph plugin``: where the Claude Code plugin is, whether it works here, and putting it into Claude Code."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from ralph import __version__
from ralph.errors import AgentUnavailable, StoreError
from ralph.interfaces.cli.exit_codes import ExitCode

NAME = "ralph@ralph"  # plugin@marketplace
SECONDS = 120.0
HELP = """The plugin for Claude Code: hooks that give a session the same advice that ralph enforces, /ralph:loop,
/ralph:cancel, and skills that plan features and write tasks.

\b
Examples:
  ralph plugin install
  ralph plugin check
  claude --plugin-dir "$(ralph plugin path)"
"""
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group("plugin", help=HELP, context_settings=_CONTEXT)
def command() -> None:
    pass


@command.command("path", context_settings=_CONTEXT)
def path() -> None:
    """Print the plugin's directory, for `claude --plugin-dir`."""
    print(_home() / "plugin")


@command.command("install", context_settings=_CONTEXT)
@click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="For you everywhere, for everybody who works on this project, or for you in this project.",
)
def install(scope: str) -> int:
    """Add the plugin to Claude Code, with its own `claude plugin` commands."""
    claude, home = _claude(), _home()
    for arguments in (
        ("marketplace", "add", str(home), "--scope", scope),
        ("install", NAME, "--scope", scope),
    ):
        ran = _run(claude, "plugin", *arguments)
        if ran.code != 0:
            message = f"`claude plugin {arguments[0]}` failed: {_last_line(ran.output)}"
            raise AgentUnavailable(message, hint=f"try `claude plugin {' '.join(arguments)}` by hand")
    print(f"installed for {scope} scope; sessions that start from now on have it")
    return ExitCode.COMPLETED


@command.command("check", context_settings=_CONTEXT)
def check() -> int:
    """See whether the plugin is whole, its hooks answer, and Claude Code accepts it. Exits with 2 if not."""
    findings = list(_findings(_home()))
    for finding in findings:
        print(f"{'ok ' if finding.good else 'BAD'}  {finding.text}")
    return ExitCode.COMPLETED if all(finding.good for finding in findings) else ExitCode.USAGE


# --- what it is made of ------------------------------------------------------------------------------------


def _home() -> Path:
    """The folder that is a marketplace with the plugin in it: in the installed package, or in the repository."""
    import ralph

    package = Path(ralph.__file__).parent
    for home in (package / "claude", package.parent.parent):
        if (home / ".claude-plugin" / "marketplace.json").is_file() and (home / "plugin").is_dir():
            return home
    message = "this installation of ralph has no plugin in it"
    raise StoreError(message, hint="install ralph anew, from a wheel or from its repository")


def _claude() -> str:
    found = shutil.which("claude")
    if found is None:
        message = "Claude Code is not installed, or not on PATH"
        raise AgentUnavailable(message, hint="npm install -g @anthropic-ai/claude-code")
    return found


class Finding(NamedTuple):
    good: bool
    text: str


QUESTIONS = {
    "the guard refuses a dangerous command": ("guard", "rm -rf /", "deny"),
    "the guard allows a harmless one": ("guard", "ls", ""),
    "the context monitor answers": ("context", "", ""),
    "the stop check answers": ("stop", "", ""),
}


def _findings(home: Path) -> Iterator[Finding]:
    plugin = home / "plugin"
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    yield Finding(
        manifest["version"] == __version__,
        f"version {manifest['version']} of the plugin, {__version__} of ralph, in {plugin}",
    )
    # Nobody's session and no project, so that no hook has anything to do but answer.
    with tempfile.TemporaryDirectory(prefix="ralph-plugin-") as folder:
        for text, (hook, shell, expected) in QUESTIONS.items():
            event = {
                "session_id": "check",
                "cwd": folder,
                "tool_name": "Bash",
                "tool_input": {"command": shell},
            }
            question = Path(folder) / "event.json"
            question.write_text(json.dumps(event), encoding="utf-8")
            ran = _run("sh", str(plugin / "hooks" / "hook.sh"), hook, cwd=folder, stdin=question)
            good = ran.code == 0 and (expected in ran.output if expected else not ran.output.strip())
            yield Finding(good, text if good else f"{text}: no ({_last_line(ran.output)})")
    claude = shutil.which("claude")
    if claude is None:
        yield Finding(True, "Claude Code is not installed here, so it was not asked")
        return
    ran = _run(claude, "plugin", "validate", "--strict", str(plugin))
    yield Finding(
        ran.code == 0, "Claude Code accepts it" if ran.code == 0 else f"Claude Code: {_last_line(ran.output)}"
    )


# --- asking programs ---------------------------------------------------------------------------------------


class Ran(NamedTuple):
    code: int | None
    output: str


def _run(*argv: str, cwd: str = "", stdin: Path | None = None) -> Ran:
    import asyncio

    from ralph.adapters.processes.ladder import QUICK
    from ralph.adapters.processes.runner import PosixProcessRunner
    from ralph.engine.ports import Command, Timeouts

    chunks: list[bytes] = []
    runner = PosixProcessRunner(
        run_id=f"plugin-{os.getpid()}", base_environment=os.environ, ladder=QUICK, linger=0.2
    )
    ended = asyncio.run(
        runner.run(
            Command(argv, Path(cwd or Path.cwd()), {}, stdin),
            timeouts=Timeouts(total=SECONDS),
            on_output=chunks.append,
            on_stderr=chunks.append,
        )
    )
    return Ran(ended.code, b"".join(chunks).decode(errors="replace"))


def _last_line(output: str) -> str:
    from ralph.domain.text.safe_text import clean_line

    lines = [line for line in output.splitlines() if line.strip()]
    return clean_line(lines[-1].strip()) if lines else "it said nothing"
