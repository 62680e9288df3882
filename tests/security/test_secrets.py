"""A secret that the user or an agent wrote somewhere is in clear neither on a screen nor in the record.

Each secret is made up anew and put together here, so that no scanner minds. What must work with it keeps it: the agent
gets the whole prompt, a guardrail runs as it was written, `ralph resume` knows both (``request.json``, for the user alone).
"""

from __future__ import annotations

import json
import random
import shlex
import string
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

from tests.acceptance.conftest import DONE, Project
from tests.faults.loops import HONEST, LOOPS, UNITTEST

from .ready_ralph import ReadyRalph

KEEPERS = {"request.json", "settings.json", "settings.local.json"}
"""What the user wrote, where it must be as it was written."""

COMMANDS = (
    ("status",), ("status", "--json"), ("show",), ("show", "--json"), ("logs",), ("logs", "--json"), ("logs", "--raw"),
    ("report", "-o", "-"), ("report", "-o", "-", "--format", "html"), ("report", "-o", "-", "--format", "json"),
    ("config", "show"), ("config", "show", "--json"), ("config", "validate"), ("doctor",), ("show", "--receipt"), ("task", "list"),
)  # fmt: skip

CHARACTERS = string.ascii_letters + string.digits


def made_up(size: int) -> str:
    """Never a plain word: two figures are in it."""
    return "".join(random.choices(CHARACTERS, k=size - 2)) + "7q"


def forms() -> dict[str, tuple[str, str]]:
    """By kind: the secret itself, and how one writes it down."""
    name = {
        "github": "ghp" + "_" + made_up(36),
        "fine": "github" + "_pat_" + made_up(60),
        "gitlab": "glpat" + "-" + made_up(20),
        "hugging": "hf" + "_" + made_up(34),
        "npm": "npm" + "_" + made_up(36),
        "stripe": "sk" + "_live_" + made_up(24),
        "google": "AIza" + "Sy" + made_up(33),
        "slack": "xoxb" + "-123456789012-" + made_up(24),
        "aws": "AKIA" + "".join(random.choices(string.ascii_uppercase, k=16)),
        "anthropic": "sk-ant" + "-api03-" + made_up(40),
        "sendgrid": "SG" + "." + made_up(22) + "." + made_up(43),
        "ocean": "dop" + "_v1_" + "".join(random.choices("0123456789abcdef", k=64)),
        "pypi": "pypi" + "-AgEIcHlwaS5vcmc" + made_up(60),
        "oauth": "ya29" + "." + made_up(60),
        "app": "xapp" + "-1-A0" + made_up(40),
        "jwt": "eyJ" + made_up(20) + ".eyJ" + made_up(40) + "." + made_up(30),
    }
    written = {kind: (secret, secret) for kind, secret in name.items()}
    for kind, form in {
        "address": "postgres://user:{}@db.example/app",
        "bearer": "curl -H 'Authorization: Bearer {}' h",
        "basic": "Authorization: Basic {}",
        "header": "X-Api-Key: {}",
        "option": "tool --api-key {} go",
        "equals": "tool --token={} go",
        "password": "tool --password {} go",
        "variable": "API_KEY={} tool",
        "hook": "https://hooks.slack.com/services/T0/B0/{}",
        "yaml": "password: {}",
        "ini": "aws_secret_access_key = {}",
        "client": '{{"client_secret": "{}"}}',
        "access": '{{"access_token":"{}","token_type":"x"}}',
        "docker": "docker login -u me -p {} h",
        "bare": "send Bearer {}",
        "curl": "curl -u me:{} https://h",
        "query": "GET /path?token={}&x=1",
        "signed": "https://h/x?X-Amz-Signature={}",
    }.items():
        secret = made_up(24)
        written[kind] = (secret, form.format(secret))
    return written


def holders(state: Path, secret: str) -> list[str]:
    """Files of the record that have it in clear, in their content or their name."""
    found = [str(path) for path in state.rglob("*") if secret in path.name]
    for path in state.rglob("*"):
        if not path.is_file() or path.is_symlink() or path.name in KEEPERS:
            continue
        content = path.read_bytes()
        if "proof" in path.parts:  # the project's own files
            continue
        if secret.encode() in content:
            found.append(str(path.relative_to(state)))
    return found


class Shown(Protocol):
    def __call__(self, project: Project, *secrets: str) -> list[str]: ...


@pytest.fixture
def shown(ready_ralph: ReadyRalph) -> Shown:
    """Commands whose output has one of the secrets in clear. Each is a process of its own: none knows what another masked."""

    def shown(project: Project, *secrets: str) -> list[str]:
        found = []
        for command in COMMANDS:
            (ran,) = ready_ralph.run([command], cwd=project.root, environ=project.env())
            assert ran.code in (0, 1), ran.err
            found += [" ".join(command) for secret in secrets if secret.encode() in ran.out + ran.err]
        return found

    return shown


def test_secrets_of_every_shape_in_every_place_are_nowhere_in_clear(project: Project, shown: Shown) -> None:
    prompt, check, output, said, complained = forms(), forms(), forms(), forms(), forms()
    project.settings(
        agent={"command": "worker", "flags": [f"--api-key={made_up(20)}"]},
        guardrails=[
            *({"command": f"true {shlex.quote(text)}"} for _, text in check.values()),
            {"command": "sh ./told.sh"},
        ],
        maximumIterations=1,
    )
    (project.root / "told.sh").write_text(
        "\n".join(f"echo {shlex.quote(text)}" for _, text in output.values()) + "\nexit 1\n"
    )
    lines = [f"echo {shlex.quote(text)}" for _, text in said.values()]
    lines += [f"echo {shlex.quote(text)} >&2" for _, text in complained.values()]
    project.program("worker", "cat > ../given\n" + "\n".join(lines) + f"\necho '{DONE}'\n")
    asked = "Do it.\n" + "\n".join(text for _, text in prompt.values())
    (project.root / "PROMPT.md").write_text(asked)
    ran = project.ralph("run", "-f", "PROMPT.md", check=1)
    given = (project.root.parent / "given").read_text()
    state = project.root / ".ralph"
    for place in (prompt, check, output, said, complained):
        for kind, (secret, text) in place.items():
            assert secret not in ran.stdout + ran.stderr, (kind, text)
            assert holders(state, secret) == [], (kind, text)
    assert asked.splitlines()[-1] in given
    places = (prompt, check, output, said, complained)
    assert shown(project, *(secret for place in places for secret, _ in place.values())) == []


def test_a_guardrail_with_a_secret_is_run_as_written_also_when_it_is_resumed(
    project: Project, shown: Shown
) -> None:
    secret = made_up(24)
    project.settings(agent={"command": "worker"}, maximumIterations=1)
    project.program("worker", f"cat > /dev/null; echo again >> launches; echo '{DONE}'\n")
    check = f"sh ./check.sh --token={secret}"
    (project.root / "check.sh").write_text(
        f'[ "$1" = --token={secret} ] && [ $(wc -l < launches) -gt 1 ] && echo right >> ../checked\n'
    )
    first = project.ralph("run", "-p", f"Use ghp_{'x' * 36}.", "--guardrail", check, check=1)
    second = project.ralph("resume", "--max-iterations", "2", check=0)
    assert (project.root.parent / "checked").read_text()
    for ran in (first, second):
        assert secret not in ran.stdout + ran.stderr
    assert holders(project.root / ".ralph", secret) == []
    assert shown(project, secret) == []


def test_what_is_notified_and_where_is_not_told(project: Project, shown: Shown) -> None:
    path, token = made_up(24), made_up(24)
    project.settings(
        agent={"command": "worker"},
        maximumIterations=1,
        notify=[f"https://127.0.0.1:1/x/{path}", f'printf %s "$RALPH_TEXT" > ../told; : --token={token}'],
        guardrails=[{"command": f"false --token={token}"}],
    )
    project.program("worker", f"cat > /dev/null; echo '{DONE}'\n")
    ran = project.ralph("run", "-p", "x", check=1)
    assert "could not notify" in ran.stderr
    told = (project.root.parent / "told").read_text()
    for secret in (path, token):
        assert secret not in ran.stdout + ran.stderr + told
        assert holders(project.root / ".ralph", secret) == []
    assert shown(project, path, token) == []


def test_a_killed_run_leaves_no_prompt_with_a_secret_once_it_is_resumed(project: Project) -> None:
    secret = "ghp" + "_" + made_up(36)
    project.settings(agent={"command": "worker"}, maximumIterations=3)
    kill = "kill -9 $RALPH_PID"
    project.program(
        "worker",
        f"cat > /dev/null; echo again >> launches; [ $(wc -l < launches) -gt 1 ] || {kill}\necho '{DONE}'\n",
    )
    process = subprocess.Popen(
        ["sh", "-c", 'RALPH_PID=$$ exec "$@"', "sh", *_ralph("run", "-p", f"Use {secret}.")],
        cwd=project.root, env=project.env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.wait(timeout=60) == -9
    project.ralph("resume", check=0)
    assert holders(project.root / ".ralph", secret) == []


OF_THE_USER = {"work": {"ralph.db"}, "plan": {"plans"}}
"""A task and a plan are what the user wrote, and agents must get it: the row of a task, and ralph's copy of a plan."""


def _ralph(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ralph", *arguments]


@pytest.mark.parametrize("kind", ["work", "plan", "supervise", "promise"])
def test_other_kinds_of_loop_keep_secrets_of_commands_to_themselves(
    kind: str, project: Project, shown: Shown
) -> None:
    secret = made_up(24)
    loop = LOOPS[kind](project)
    loop.agent(f"{HONEST}; say 'postgres://me:{secret}@h/x'")
    ran = loop.run(check=f"{UNITTEST} && : --token={secret}", times=2)
    assert secret not in ran.stdout + ran.stderr
    found = {name.split("/")[0] for name in holders(loop.root / ".ralph", secret)}
    assert found <= OF_THE_USER.get(kind, set())
    for (table,) in project.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'tasks'"):
        assert secret not in str(project.rows(f"SELECT * FROM {table}")), table
    assert json.loads(project.ralph("status", "--json").stdout)
    assert shown(project, secret) == []


def test_screens_show_a_task_without_its_secrets_and_an_export_is_whole(project: Project) -> None:
    title, told = forms()["github"][0], made_up(24)
    task: dict[str, object] = {
        "id": "T-1",
        "title": f"Use {title}",
        "description": f"At postgres://me:{told}@h/x.",
    }
    task["completion"] = {"outcome": "it is there", "acceptance_criteria": ["it is there"]}
    project.ralph("task", "add", "-f", "-", stdin=json.dumps({"tasks": [task]}), check=0)
    for command in (("list",), ("list", "--json"), ("show", "T-1"), ("show", "T-1", "--json")):
        ran = project.ralph("task", *command, check=0)
        assert title not in ran.stdout
        assert told not in ran.stdout
    project.ralph("task", "export", "-o", "tasks.out", check=0)
    assert told in (project.root / "tasks.out").read_text()


def test_a_dry_run_shows_no_secrets(project: Project) -> None:
    secret, token = made_up(24), forms()["github"][0]
    project.settings(agent={"command": "worker"}, guardrails=[{"command": f"true --token={secret}"}])
    project.program("worker", "cat > /dev/null\n")
    ran = project.ralph("run", "--dry-run", "-p", f"Use {token}.", check=0)
    assert "Use [redacted]." in ran.stdout
    assert secret not in ran.stdout + ran.stderr
    assert token not in ran.stdout + ran.stderr
