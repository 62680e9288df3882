"""The plugin for Claude Code: find it, install it, check it."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ralph
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.ladder import QUICK
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.text.safe_text import clean_line
from ralph.engine.ports import Command, Timeouts
from ralph.errors import AgentUnavailable, StoreError

NAME = "ralph@ralph"  # plugin@marketplace
SECONDS = 120.0

QUESTIONS = {
    "the guard refuses a dangerous command": ("guard", "rm -rf /", "deny"),
    "the guard allows a harmless one": ("guard", "ls", ""),
    "the context monitor answers": ("context", "", ""),
    "the stop check answers": ("stop", "", ""),
}


class Finding(NamedTuple):
    good: bool
    text: str


def plugin_folder() -> Path:
    return _home() / "plugin"


def install_plugin(scope: str) -> None:
    """With Claude Code's own `claude plugin` commands."""
    claude, home = _claude(), _home()
    for arguments in (
        ("marketplace", "add", str(home), "--scope", scope),
        ("install", NAME, "--scope", scope),
    ):
        ran = _run(claude, "plugin", *arguments)
        if ran.code != 0:
            message = f"`claude plugin {arguments[0]}` failed: {_last_line(ran.output)}"
            raise AgentUnavailable(message, hint=f"try `claude plugin {' '.join(arguments)}` by hand")


def check_plugin() -> Iterator[Finding]:
    """Whether the plugin is complete, its hooks answer, and Claude Code accepts it."""
    plugin = plugin_folder()
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    version = ralph.__version__
    yield Finding(
        manifest["version"] == version,
        f"version {manifest['version']} of the plugin, {version} of ralph, in {plugin}",
    )
    # No session and no project: the hooks have nothing to do but answer.
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
    claude = _find_claude()
    if claude is None:
        yield Finding(True, "Claude Code is not installed here, so it was not asked")
        return
    ran = _run(claude, "plugin", "validate", "--strict", str(plugin))
    yield Finding(
        ran.code == 0, "Claude Code accepts it" if ran.code == 0 else f"Claude Code: {_last_line(ran.output)}"
    )


def _home() -> Path:
    """The marketplace folder that holds the plugin: in the installed package, or in the repository."""
    package = Path(ralph.__file__).parent
    for home in (package / "claude", package.parent.parent):
        if (home / ".claude-plugin" / "marketplace.json").is_file() and (home / "plugin").is_dir():
            return home
    message = "this installation of ralph does not include the plugin"
    raise StoreError(message, hint="install ralph again, from a wheel or from its repository")


def _claude() -> str:
    found = _find_claude()
    if found is None:
        message = "Claude Code is not installed, or not on PATH"
        raise AgentUnavailable(message, hint="npm install -g @anthropic-ai/claude-code")
    return found


def _find_claude() -> str | None:
    """Not the one that the project we are in may have on PATH."""
    return OwnPrograms(os.environ, [Path.cwd()]).find("claude")


class Ran(NamedTuple):
    code: int | None
    output: str


def _run(*argv: str, cwd: str = "", stdin: Path | None = None) -> Ran:
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
    lines = [line for line in output.splitlines() if line.strip()]
    return clean_line(lines[-1].strip()) if lines else "it printed nothing"
