"""``ralph config`` as a user or a script meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pexpect
import pytest

RALPH_CONFIG = [sys.executable, "-m", "ralph", "config"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".ralph").mkdir()
    write(
        tmp_path,
        {
            "agent": {"command": "claude", "environment": {"API_KEY": "s3cret", "LEVEL": "high"}},
            "guardrails": [{"command": "make test"}],
        },
    )
    return tmp_path


def write(root: Path, content: object, name: str = "settings.json") -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (root / ".ralph" / name).write_text(text, encoding="utf-8")


def environment(extra: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("RALPH_")} | extra


def config(project: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RALPH_CONFIG, *arguments],
        cwd=project,
        env=environment(extra),
        capture_output=True,
        text=True,
        timeout=90,
    )


def test_show_prints_every_value_and_its_source(project: Path) -> None:
    write(project, {"maximumIterations": 3, "scm": {"command": "git"}}, "settings.local.json")
    done = config(project, "show", RALPH_AGENT__FLAGS="--api-key s3cret --model opus")
    assert (done.returncode, done.stderr) == (0, "")
    shown = {line.split()[0]: line.split(None, 1)[1] for line in done.stdout.splitlines()}
    expected = {
        "maximumIterations": ("3", ".ralph/settings.local.json"),
        "completionResponse": ('"DONE"', "default"),
        "agent.command": ('"claude"', ".ralph/settings.json"),
        "agent.flags": (
            '["--api-key", "[redacted]", "--model", "opus"]',
            "environment RALPH_AGENT__FLAGS",
        ),
        "agent.idleTimeout": ("1800", "default"),
        "agent.environment.API_KEY": ('"[redacted]"', ".ralph/settings.json"),
        "agent.environment.LEVEL": ('"high"', ".ralph/settings.json"),
        "guardrails[0]": ('{"command": "make test"}', ".ralph/settings.json"),
        "guardrailTimeout": ("null", "default"),
        "scm.command": ('"git"', ".ralph/settings.local.json"),
        "scm.tasks": ("[]", "default"),
        "profiles.promise.maximumIterations": ("100", "default"),
    }
    for key, (value, source) in expected.items():
        assert shown[key].startswith(value + " ")
        assert shown[key].endswith("  " + source)
    assert "s3cret" not in done.stdout


def test_show_in_a_pipe_aligns_its_columns_and_needs_no_rich(project: Path) -> None:
    done = config(project, "show")
    columns = {line.index('"') for line in done.stdout.splitlines() if line.split()[1].startswith('"')}
    assert len(columns) == 1
    program = (
        "import sys; from ralph.interfaces.cli.main import main;"
        " assert main(sys.argv[1:]) == 0; assert 'rich' not in sys.modules"
    )
    quiet = subprocess.run(
        [sys.executable, "-c", program, "config", "show"],
        cwd=project,
        env=environment({}),
        capture_output=True,
        timeout=90,
    )
    assert quiet.returncode == 0


def test_show_as_json_is_for_scripts(project: Path) -> None:
    write(project, {"agent": {"comand": "x"}}, "settings.local.json")
    done = config(project, "show", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert shown["files"] == [".ralph/settings.json", ".ralph/settings.local.json"]
    assert shown["settings"]["agent.command"] == {"value": "claude", "source": ".ralph/settings.json"}
    assert shown["settings"]["agent.environment.API_KEY"]["value"] == "[redacted]"
    assert shown["settings"]["limits.maxAttempts"] == {"value": 4, "source": "default"}
    assert shown["warnings"] == [
        {
            "source": ".ralph/settings.local.json",
            "key": "agent.comand",
            "message": "unknown key, ignored",
            "hint": "did you mean agent.command?",
        }
    ]


def test_show_warns_on_stderr_only(project: Path) -> None:
    done = config(project, "show", RALPH_MAXIMUM_ITERATION="3")
    assert done.returncode == 0
    assert done.stderr == (
        "warning: environment RALPH_MAXIMUM_ITERATION: no setting has this name, ignored;"
        " did you mean RALPH_MAXIMUM_ITERATIONS?\n"
    )


def test_show_on_a_terminal_is_a_table(project: Path) -> None:
    child: Any = pexpect.spawn(
        RALPH_CONFIG[0],
        [*RALPH_CONFIG[1:], "show"],
        cwd=str(project),
        env=environment({"TERM": "dumb", "NO_COLOR": "1"}),
        dimensions=(40, 100),
        encoding="utf-8",
        timeout=90,
    )
    child.expect(pexpect.EOF)
    lines = child.before.replace("\r", "").split("\n")
    child.close()
    assert child.exitstatus == 0
    assert lines[0].split() == ["setting", "value", "source"]
    assert any(line.split() == ["agent.command", '"claude"', ".ralph/settings.json"] for line in lines)
    assert max(len(line) for line in lines) <= 100


def test_show_with_wrong_settings_is_an_error(project: Path) -> None:
    write(project, {"maximumIterations": 0})
    done = config(project, "show")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "maximumIterations: expected a whole number of at least 1, found 0" in done.stderr


def test_show_works_without_any_settings(tmp_path: Path) -> None:
    done = config(tmp_path, "show")
    assert done.returncode == 0
    assert "maximumIterations" in done.stdout


def test_the_printed_schema_accepts_right_and_rejects_wrong_settings() -> None:
    done = config(Path.cwd(), "schema")
    assert done.returncode == 0
    validator = jsonschema.Draft202012Validator(json.loads(done.stdout))
    jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))
    example = {
        "maximumIterations": 10,
        "completionResponse": "DONE",
        "outputTruncateChars": 5000,
        "streamAgentOutput": True,
        "includeIterationCountInPrompt": False,
        "agent": {"command": "claude", "flags": ["--model opus", "--no-auto-compact"]},
        "guardrails": [
            {"command": "make lint", "failAction": "APPEND", "hint": "Fix lint errors only."},
            {"command": "make test", "failAction": "APPEND"},
        ],
        "scm": {"command": "git", "tasks": ["commit", "push"]},
    }
    assert validator.is_valid(example)
    assert validator.is_valid({"agent": {"command": "claude"}})
    wrong_ones: list[object] = [
        {"maximumIterations": 0},
        {"maximumIterations": True},
        {"agent": {"flags": "x"}},
        {"guardrails": [{}]},
        {"guardrails": [{"command": "x", "failAction": "y"}]},
        {"scm": {"tasks": []}},
        {"maxIterations": 1},
        [],
    ]
    for wrong in wrong_ones:
        assert not validator.is_valid(wrong), wrong


def test_validate_says_that_all_is_well(project: Path) -> None:
    done = config(project, "validate")
    assert (done.returncode, done.stdout) == (0, "settings are valid (.ralph/settings.json)\n")


def test_validate_lists_all_problems_and_warnings(project: Path) -> None:
    write(project, {"maximumIterations": "x", "agent": {"comand": "y", "flags": 1}})
    write(project, "{\n  oops", "settings.local.json")
    done = config(project, "validate", RALPH_OUTPUT__EMOJI="sometimes")
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        (
            "error: .ralph/settings.local.json: not valid JSON: line 2, column 3:"
            " expected a name in double quotes, found o"
        ),
        'error: .ralph/settings.json: maximumIterations: expected a whole number of at least 1, found "x"',
        "error: .ralph/settings.json: agent.flags: expected a list of strings, found 1",
        (
            "error: environment RALPH_OUTPUT__EMOJI: output.emoji:"
            ' expected one of auto, always, never, found "sometimes"'
        ),
        "warning: .ralph/settings.json: agent.comand: unknown key, ignored; did you mean agent.command?",
        "settings are not valid: 4 problems, 1 warning (.ralph/settings.json, .ralph/settings.local.json)",
    ]


def test_validate_names_a_file_that_is_no_json_as_found(project: Path) -> None:
    write(project, "{ oops")
    done = config(project, "validate")
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == "settings are not valid: 1 problem (.ralph/settings.json)"
    assert json.loads(config(project, "validate", "--json").stdout)["files"] == [".ralph/settings.json"]


def test_validate_as_json_is_for_scripts(project: Path) -> None:
    write(project, {"maximumIterations": "x"})
    done = config(project, "validate", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout) == {
        "valid": False,
        "files": [".ralph/settings.json"],
        "problems": [
            {
                "source": ".ralph/settings.json",
                "key": "maximumIterations",
                "message": 'expected a whole number of at least 1, found "x"',
                "hint": "",
            }
        ],
        "warnings": [],
    }


def test_validate_warns_when_no_agent_is_set(tmp_path: Path) -> None:
    done = config(tmp_path, "validate")
    assert done.returncode == 0
    assert "warning: agent.command: not set; choose an agent with `ralph init`" in done.stdout
    assert "(no settings file here: all defaults)" in done.stdout


def test_path_prints_where_the_settings_are_or_would_be(project: Path, tmp_path: Path) -> None:
    below = project / "src"
    below.mkdir()
    assert config(below, "path").stdout == f"{project}/.ralph/settings.json\n"
    assert config(below, "path", "--local").stdout == f"{project}/.ralph/settings.local.json\n"
    given = config(Path("/"), "path", "--project-dir", str(below))
    assert given.stdout == f"{below}/.ralph/settings.json\n"


def test_another_project_can_be_given(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = config(elsewhere, "show", "--project-dir", str(project))
    assert '"claude"' in done.stdout
    gone = config(elsewhere, "validate", "--project-dir", "gone")
    assert gone.returncode == 2
    assert "gone is not a directory" in gone.stderr
