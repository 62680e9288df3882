"""What a user keeps in settings.local.json, or gives in the environment, is in no record; `ralph resume` reads it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project

VALUES = {
    "variable": "plain-looking-value-1",
    "token": "Zx81-a-token-of-the-agent",
    "other": "Zx82-a-token-of-another",
    "hook": "Zx83hookpath",
    "flag": "Zx84-in-a-flag",
    "check": "Zx85-in-a-check",
    "given": "Zx86-in-the-environment",
}


@pytest.fixture
def local(project: Project) -> Project:
    """An agent that needs one of the values to say that it is done, and does at its second launch."""
    project.settings(guardrails=[{"command": "true"}], maximumIterations=1)
    project.settings(
        "settings.local.json",
        agent={
            "command": "worker",
            "environment": {"COLOUR": VALUES["variable"], "WORKER_TOKEN": VALUES["token"]},
            "flags": [f"--header {VALUES['flag']}"],
        },
        agents={"other": {"command": "other", "environment": {"OTHER_TOKEN": VALUES["other"]}}},
        notify=[f"https://127.0.0.1:1/services/{VALUES['hook']}"],
        guardrails=[{"command": f"test -n {VALUES['check']}"}],
    )
    project.program(
        "worker",
        f"cat >/dev/null; echo again >> launches; [ $(wc -l < launches) -gt 1 ] || exit 0\n"
        f"[ \"$COLOUR$2\" = {VALUES['variable']}{VALUES['flag']} ] && echo '{DONE}'\n",
    )
    project.environment["RALPH_SCM__COMMAND"] = VALUES["given"]
    return project


def holding(state: Path, value: str) -> list[str]:
    files = (path for path in state.rglob("*") if path.is_file() and path.name != "settings.local.json")
    return [path.name for path in files if value.encode() in path.read_bytes()]


def test_values_of_the_user_are_not_in_the_request_and_a_resumed_run_has_them(local: Project) -> None:
    local.ralph("run", "-p", PROMPT, check=1)
    state = local.root / ".ralph"
    (request,) = state.glob("runs/*/request.json")
    kept = json.loads(request.read_text())
    assert kept["settings"]["agent"]["environment"] == {"COLOUR": "[redacted]", "WORKER_TOKEN": "[redacted]"}
    assert [name for name, value in VALUES.items() if value in request.read_text()] == []
    ran = local.ralph("resume", "--max-iterations", "2", check=0)
    assert "was" not in ran.stderr.replace("maximumIterations was 1, is 2", "")


@pytest.mark.parametrize("name", ["token", "other", "hook"])
def test_no_file_of_the_record_has_a_secret_of_the_user(local: Project, name: str) -> None:
    local.ralph("run", "-p", PROMPT, check=1)
    assert holding(local.root / ".ralph", VALUES[name]) == []


def test_a_request_of_an_earlier_version_resumes_and_its_values_are_not_shown(local: Project) -> None:
    local.ralph("run", "-p", PROMPT, check=1)
    (request,) = (local.root / ".ralph").glob("runs/*/request.json")
    kept = json.loads(request.read_text())
    kept["settings"]["agent"]["environment"]["WORKER_TOKEN"] = "Zx87-that-was-kept-once"
    request.write_text(json.dumps(kept))
    ran = local.ralph("resume", "--max-iterations", "2", check=0)
    assert "Zx87" not in ran.stderr + ran.stdout
