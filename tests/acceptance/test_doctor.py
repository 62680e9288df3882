"""``ralph doctor`` as a user or a script meets it. The only programs on PATH are the test's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.processes.sign_search import load_library
from ralph.adapters.processes.watcher_program import compiled_watcher

from .conftest import Project

CLAUDE = """
case "$1" in
--version) echo "2.1.325 (Claude Code)";;
--help) echo "--output-format --verbose --dangerously-skip-permissions";;
auth) exit ${LOGGED_OUT:-0};;
*) echo "started: $*" > "$STARTED"; exit 9;;
esac
"""


@pytest.fixture
def project(project: Project, tmp_path: Path) -> Project:
    git = shutil.which("git")
    assert git is not None
    (project.programs / "git").symlink_to(git)
    project.environment = {"HOME": str(tmp_path), "STARTED": str(tmp_path / "started")}
    project.git("init", "-q")
    return project


def doctor(
    project: Project, *arguments: str, check: int | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    keys = {name: "" for name in os.environ if name.endswith(("_API_KEY", "_TOKEN"))}
    project.environment |= {**keys, "PATH": str(project.programs), **environment}
    return project.ralph("doctor", *arguments, check=check)


def findings(project: Project, *, check: int, **environment: str) -> dict[str, dict[str, Any]]:
    printed = json.loads(doctor(project, "--json", check=check, **environment).stdout)
    assert printed["ready"] is (check == 0)
    return {finding["name"]: finding for finding in printed["findings"]}


def test_a_healthy_project_is_said_to_be_ready_and_no_agent_was_started(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(agent={"command": "claude"})

    found = findings(project, check=0)

    assert found["claude"]["health"] == "good"
    assert found["claude"]["needed"] is True
    assert found["claude"]["details"]["version"] == "2.1.325"
    assert found["claude"]["details"]["loggedIn"] is True
    assert found["codex"]["health"] == "absent"
    assert {found[name]["health"] for name in ("git", "disk", "python", "settings")} == {"good"}
    assert {"sbx", "bwrap", "container", "srt"} <= found.keys()
    assert not Path(project.environment["STARTED"]).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is compiled elsewhere")
def test_it_says_which_parts_are_compiled(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(agent={"command": "claude"})
    found = findings(project, check=0)["compiled"]
    names = {"watcher": compiled_watcher(), "search for secrets": load_library()}
    missing = [name for name, part in names.items() if part is None]
    assert found["details"]["missing"] == missing
    assert found["health"] == ("absent" if missing else "good")
    assert all(name in found["text"] for name in missing or names)
    assert bool(found["advice"]) is bool(missing)


def test_the_table_says_the_same_to_people(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(agent={"command": "claude"})

    printed = doctor(project, check=0).stdout

    assert "2.1.325, logged in (configured)" in printed
    assert "Ready to run." in printed
    project.settings()
    assert (
        "Ready to run with --agent; `ralph init` chooses an agent for good."
        in doctor(project, check=0).stdout
    )


def test_a_configured_agent_that_is_not_logged_in_is_exit_4_with_the_way_out(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(agent={"command": "claude"})

    ran = doctor(project, check=4, LOGGED_OUT="1")

    assert "not logged in" in ran.stdout
    assert "use /login" in ran.stdout
    assert "Not ready to run: see claude." in ran.stdout


def test_an_agent_that_nobody_configured_may_be_logged_out(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.program("mine", "")
    project.settings(agent={"command": "mine"})

    found = findings(project, check=0, LOGGED_OUT="1")

    assert (found["mine"]["health"], found["mine"]["needed"]) == ("good", True)
    assert (found["claude"]["health"], found["claude"]["needed"]) == ("bad", False)


@pytest.mark.parametrize(
    ("command", "text", "advice"),
    [
        ("codex", "not installed", "npm install -g @openai/codex"),
        ("my-agent", "not installed", "set agent.command to its path"),
        ("my agent", "my agent is not installed", "put its arguments in agent.flags"),
        ("./folder", "./folder is a directory", "the program in it"),
        ("./file", "./file is not executable", "chmod +x ./file"),
        ("./nothing", "./nothing does not exist", "set agent.command to its path"),
    ],
)
def test_a_configured_agent_that_cannot_be_started_is_exit_4(
    project: Project, command: str, text: str, advice: str
) -> None:
    (project.root / "folder").mkdir()
    (project.root / "file").write_text("#!/bin/sh\n")
    project.settings(agent={"command": command})

    finding = findings(project, check=4)[command]

    assert (finding["health"], finding["text"]) == ("bad", text)
    assert advice in finding["advice"][0]


def test_a_version_that_is_too_old_and_lacks_a_flag_is_named_with_the_update(project: Project) -> None:
    old = CLAUDE.replace("2.1.325", "1.0.9").replace(" --verbose", "")
    project.program("claude", old)
    project.settings(agent={"command": "claude"})

    finding = findings(project, check=4)["claude"]

    assert "1.0.9, too old: known to work from 2.1 on" in finding["text"]
    assert finding["details"]["missingFlags"] == ["--verbose"]
    assert finding["advice"] == ["update it: npm install -g @anthropic-ai/claude-code"]


def test_wrong_settings_are_listed_and_exit_2(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(agent={"command": "claude", "timeout": "soon"}, maximumIterations=0)

    printed = json.loads(doctor(project, "--json", check=2).stdout)

    wrong = [finding for finding in printed["findings"] if finding["area"] == "settings"]
    assert len(wrong) == 2
    assert all(finding["health"] == "bad" for finding in wrong)


def test_an_option_that_the_agent_does_not_support_is_exit_2(project: Project) -> None:
    project.program("codex", 'case "$1" in --version) echo "codex-cli 0.166.0";; esac\n')
    project.settings(agent={"command": "codex", "maxTurns": 3})

    found = findings(project, check=2)

    assert found["settings"]["text"] == "agent.maxTurns: codex does not support it"
    assert "claude" in found["settings"]["advice"][0]


def test_patience_shorter_than_an_agents_own_silence_is_doubted(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(agent={"command": "claude", "idleTimeout": 60})

    found = findings(project, check=0)

    assert found["settings"]["health"] == "doubtful"
    assert "may be silent for 190 s" in found["settings"]["text"]


def test_an_agent_of_ones_own_is_looked_at_under_its_name(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(
        agent={"command": "opus"},
        agents={"opus": {"command": "claude", "adapter": "claude", "environment": {"LOGGED_OUT": "1"}}},
    )

    found = findings(project, check=4)

    assert "not logged in" in found["opus"]["text"]
    assert "2.1.325, logged in" in found["claude"]["text"]


def test_agents_of_ones_own_are_looked_at_even_if_no_run_would_use_them(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(
        agent={"command": "claude"},
        agents={
            "helper": {"command": "tools/helper now"},
            "opus": {"command": "claude", "adapter": "claude"},
        },
    )

    found = findings(project, check=0)

    assert (found["helper"]["health"], found["helper"]["details"]["configured"]) == ("absent", False)
    assert found["opus"]["health"] == "good"


def test_one_configured_agent_that_can_work_is_enough(project: Project) -> None:
    project.program("claude", CLAUDE)
    project.settings(
        agent={"command": "helper", "fallbacks": ["claude", "codex"]},
        agents={"helper": {"command": "tools/helper now"}},
    )

    found = findings(project, check=0)

    assert [found[name]["health"] for name in ("helper", "claude", "codex")] == ["bad", "good", "bad"]
    assert found["helper"]["advice"] == [
        "agents.helper.command is the program alone; put its arguments in agents.helper.flags"
    ]
    assert "npm install" in found["codex"]["advice"][0]
    printed = doctor(project, check=4, LOGGED_OUT="1").stdout
    assert "Not ready to run: see helper, claude, codex." in printed


def test_nothing_configured_and_nothing_installed_says_what_to_install(project: Project) -> None:
    found = findings(project, check=4)

    assert "npm install -g @anthropic-ai/claude-code" in found["agents"]["advice"][0]
    assert "ralph init" in found["settings"]["advice"][0]
    printed = doctor(project, check=4).stdout
    assert "(configured)" not in printed
    assert "ralph run --agent ./my-agent" in printed
    assert "Not ready to run: see agents, or give --agent." in printed


def test_what_a_program_says_cannot_reach_the_terminal_unchecked(project: Project) -> None:
    project.program("claude", "printf 'bad\\033]0;title\\007 \\033[31mthing\\n'; exit 1\n")
    project.settings(agent={"command": "claude"})

    ran = doctor(project, check=4)

    assert "\x1b]0;" not in ran.stdout
    assert "does not start: bad thing" in ran.stdout


def test_a_folder_that_is_no_project_is_a_usage_error(project: Project) -> None:
    ran = doctor(project, "--project-dir", "nowhere", check=2)

    assert "is not a directory" in ran.stderr
