"""What the demo's jobs work on: a repository, an agent that needs no account, and settings for the workers."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

from ralph.adapters.files import make_private_folder, write_atomic, write_private
from ralph.adapters.git import Git
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.errors import AgentUnavailable

STEPS = 3
THINKING = 1.5
PROMPT = f"Add the next of {STEPS} steps to steps.txt. When all are there, output <response>DONE</response>."
CHECK = """\
#!/bin/sh
# Every step once, in order: a machine that was lost took nothing with it, and nothing was done twice.
number=0
while read -r line; do
  number=$((number + 1))
  [ "$line" = "step $number" ] || { echo "line $number is: $line" >&2; exit 1; }
done < steps.txt
"""


async def make_repository(folder: Path, own: OwnPrograms) -> Path:
    """The address of the bare one that workers clone. ``folder / "config"`` is for XDG_CONFIG_HOME."""
    project, remote = folder / "project", folder / "shop.git"
    settings, config = folder / "config" / "ralph", folder / "config" / "git"
    for each in (project, settings, config):
        make_private_folder(each)
    write_private(config / "config", b"[user]\n\tname = ralph demo\n\temail = demo@localhost\n")
    write_private(settings / "settings.json", _settings(folder / "agent").encode())
    write_private(project / "steps.txt", b"")
    write_atomic(folder / "agent", _agent(folder), mode=0o755)
    write_atomic(project / "check", CHECK, mode=0o755)
    await _git(own, project, "init", "-q", "-b", "main")
    await _git(own, project, "add", ".")
    await _git(own, project, "commit", "-q", "-m", "No step yet")
    await _git(own, folder, "clone", "-q", "--bare", "--", str(project), str(remote))
    return remote


async def _git(own: OwnPrograms, root: Path, *arguments: str) -> None:
    runner = PosixProcessRunner(run_id="demo", base_environment=os.environ, find=own.find)
    identity = ("user.name=ralph demo", "user.email=demo@localhost")
    ran = await Git(root, runner, is_top=True).run(*arguments, configuration=identity)
    if not ran.ok:
        message = f"cannot make the demo's repository: {ran.why}"
        raise AgentUnavailable(message, hint="check your git installation")


def _settings(agent: Path) -> str:
    return json.dumps(
        {
            "agent": {"command": str(agent), "adapter": "claude", "flags": ["--permission-mode=acceptEdits"]},
            "guardrails": [{"command": "./check"}],
            "scm": {"command": "git", "tasks": ["commit"]},
            "proof": "trusting",
        }
    )


def _agent(folder: Path) -> str:
    """What it does next follows from the files: it knows nothing of where it was before. One that is killed leaves what goes
    with the demo's own folder."""
    fake = shlex.join([sys.executable, "-m", "ralph.testing.fake_agent_cli", "--as", "claude"])
    session = (
        f'{{"say":"Step %d of {STEPS}."}},{{"sleep":{THINKING}}},'
        '{"run":"echo step %d >> steps.txt"},{"say":"Done with step %d. %s"}'
    )
    text = f'{{"sessions":[[{session}]],"commits":["Step %d"]}}'
    return f"""\
#!/bin/sh
step=$(($(wc -l < steps.txt) + 1))
[ "$step" -lt {STEPS} ] && done= || done='<response>DONE</response>'
folder=$(mktemp -d {shlex.quote(str(folder / "session-XXXXXX"))})
trap 'rm -rf "$folder"' EXIT
printf '{text}' "$step" "$step" "$step" "$done" "$((step - 1))" > "$folder/script"
{fake} --script "$folder/script" "$@"
"""
