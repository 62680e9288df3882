"""``ralph init`` as a user meets it: a real terminal, the documented conversation, and the file it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

RALPH_INIT = [sys.executable, "-m", "ralph", "init"]

AGENT = "Agent command (e.g., claude, codex, amp, or other LLM CLI) [claude]: "
FLAGS = "Agent flags (comma-separated, optional): "
ITERATIONS = "Maximum iterations [10]: "
COMPLETION = "Completion response [DONE]: "
GUARDRAIL = "Add guardrail command (leave blank to finish): "
FAIL_ACTION = "  Fail action (APPEND|PREPEND|REPLACE) [APPEND]: "
HINT = "  Hint (optional, guidance for agent on failure): "
SCM = "Configure SCM? (y/N): "
SCM_COMMAND = "  SCM command (e.g., git) [git]: "
SCM_TASKS = "  SCM tasks (comma-separated, e.g., commit,push) [commit]: "
OVERWRITE = "Overwrite? (y/N): "
NO_GUARDRAILS = "warning: no guardrails, so a run only has the agent's word; add commands that must succeed"
NEXT = 'Next: ralph run "Fix the failing tests"'

SHORTEST = [(AGENT, "amp"), (FLAGS, ""), (ITERATIONS, ""), (COMPLETION, ""), (GUARDRAIL, ""), (SCM, "")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = tmp_path / "programs"
    programs.mkdir()
    for program in ("claude", "amp", "make", "npm"):
        (programs / program).write_text("#!/bin/sh\n")
        (programs / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    root = tmp_path / "project"
    root.mkdir()
    return root


class Terminal:
    """A user at a terminal. Everything that was on the screen is in ``screen``."""

    def __init__(self, project: Path, *arguments: str, **variables: str) -> None:
        environment: Any = {key: value for key, value in os.environ.items() if not key.startswith("RALPH_")}
        self.child: Any = pexpect.spawn(
            RALPH_INIT[0],
            [*RALPH_INIT[1:], *arguments],
            cwd=str(project),
            env={**environment, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **variables},
            dimensions=(24, 200),
            encoding="utf-8",
            timeout=90,
        )
        self.screen = ""

    def expect(self, text: str) -> None:
        self.child.expect_exact(text)
        self.screen += self.child.before + self.child.after

    def answer(self, *exchanges: tuple[str, str]) -> None:
        for question, answer in exchanges:
            self.expect(question)
            self.child.sendline(answer)

    def exit_code(self) -> int | None:
        self.child.expect(pexpect.EOF)
        self.screen += self.child.before
        self.child.close()
        code: int | None = self.child.exitstatus
        return code

    @property
    def lines(self) -> list[str]:
        return self.screen.replace("\r", "").split("\n")


@pytest.fixture
def terminal(project: Path) -> Iterator[Terminal]:
    at = Terminal(project)
    yield at
    at.child.close(force=True)


def settings(project: Path) -> Any:
    return json.loads((project / ".ralph" / "settings.json").read_text(encoding="utf-8"))


def scripted(
    project: Path, *arguments: str, stdin: int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RALPH_INIT, *arguments], cwd=project, stdin=stdin, capture_output=True, text=True, timeout=90
    )


# --- the conversation --------------------------------------------------------------------------------------


def test_the_documented_conversation_is_played_word_for_word(project: Path, terminal: Terminal) -> None:
    terminal.answer(
        (AGENT, "claude"),
        (FLAGS, "--model,opus"),
        (ITERATIONS, ""),
        (COMPLETION, ""),
        (GUARDRAIL, "make lint"),
        (FAIL_ACTION, "APPEND"),
        (HINT, "Fix lint errors only. Do not change behavior."),
        (GUARDRAIL, "make test"),
        (FAIL_ACTION, "APPEND"),
        (HINT, ""),
        (GUARDRAIL, ""),
        (SCM, "y"),
        (SCM_COMMAND, "git"),
        (SCM_TASKS, "commit"),
    )
    assert terminal.exit_code() == 0
    assert [line.rstrip() for line in terminal.lines] == [
        "",
        "Enter takes what is in [brackets]. Ctrl-C leaves everything as it is.",
        "",
        "The program that does the work. Every iteration starts it with a fresh context.",
        "Agent command (e.g., claude, codex, amp, or other LLM CLI) [claude]: claude",
        "More arguments for it, such as --model opus.",
        "Agent flags (comma-separated, optional): --model,opus",
        "The most sessions of the agent before a run stops, done or not.",
        "Maximum iterations [10]:",
        "What the agent says in <response>…</response> when everything is done.",
        "Completion response [DONE]:",
        "Guardrails: commands that must pass, or ralph does not believe that it is done.",
        "Add guardrail command (leave blank to finish): make lint",
        (
            "  If it fails, the next session reads its output after your prompt (APPEND), before it (PREPEND) or instead"
            " of it (REPLACE)."
        ),
        "  Fail action (APPEND|PREPEND|REPLACE) [APPEND]: APPEND",
        "  What the agent is told as well, such as: Do not change the tests.",
        "  Hint (optional, guidance for agent on failure): Fix lint errors only. Do not change behavior.",
        "Add guardrail command (leave blank to finish): make test",
        "  Fail action (APPEND|PREPEND|REPLACE) [APPEND]: APPEND",
        "  Hint (optional, guidance for agent on failure):",
        "Add guardrail command (leave blank to finish):",
        (
            "With git, ralph can commit whenever all guardrails pass; the agent writes the message. Without it, changes"
            " stay uncommitted."
        ),
        "Configure SCM? (y/N): y",
        "  SCM command (e.g., git) [git]: git",
        "  SCM tasks (comma-separated, e.g., commit,push) [commit]: commit",
        "",
        "Settings written to .ralph/settings.json",
        NEXT,
        "",
    ]
    written = (project / ".ralph" / "settings.json").read_text(encoding="utf-8")
    assert written == (
        "{\n"
        '  "maximumIterations": 10,\n'
        '  "completionResponse": "DONE",\n'
        '  "outputTruncateChars": 5000,\n'
        '  "streamAgentOutput": true,\n'
        '  "includeIterationCountInPrompt": false,\n'
        '  "agent": {\n'
        '    "command": "claude",\n'
        '    "flags": [\n'
        '      "--model",\n'
        '      "opus"\n'
        "    ]\n"
        "  },\n"
        '  "guardrails": [\n'
        "    {\n"
        '      "command": "make lint",\n'
        '      "failAction": "APPEND",\n'
        '      "hint": "Fix lint errors only. Do not change behavior."\n'
        "    },\n"
        "    {\n"
        '      "command": "make test",\n'
        '      "failAction": "APPEND"\n'
        "    }\n"
        "  ],\n"
        '  "scm": {\n'
        '    "command": "git",\n'
        '    "tasks": [\n'
        '      "commit"\n'
        "    ]\n"
        "  }\n"
        "}\n"
    )
    assert {path.name for path in (project / ".ralph").iterdir()} == {".gitignore", "seal", "settings.json"}


def test_the_shortest_conversation_takes_all_defaults(project: Path, terminal: Terminal) -> None:
    terminal.answer(*SHORTEST)
    assert terminal.exit_code() == 0
    assert settings(project) == {
        "maximumIterations": 10,
        "completionResponse": "DONE",
        "outputTruncateChars": 5000,
        "streamAgentOutput": True,
        "includeIterationCountInPrompt": False,
        "agent": {"command": "amp", "flags": []},
        "guardrails": [],
    }


def test_answers_are_trimmed_and_wrong_ones_asked_again_with_a_reason(
    project: Path, terminal: Terminal
) -> None:
    terminal.answer((AGENT, " my-agent "), (FLAGS, " --model opus , ,-v "))
    terminal.answer((ITERATIONS, "0"))
    terminal.expect("expected a whole number of at least 1, found 0\r\n")
    terminal.answer((ITERATIONS, "ten"))
    terminal.expect('expected a whole number of at least 1, found "ten"\r\n')
    terminal.answer(
        (ITERATIONS, "25"), (COMPLETION, " FERTIG ✓ "), (GUARDRAIL, "make"), (FAIL_ACTION, "explode")
    )
    terminal.expect('  expected one of APPEND, PREPEND, REPLACE, found "explode"\r\n')
    terminal.answer((FAIL_ACTION, "replace"), (HINT, ""), (GUARDRAIL, ""))
    terminal.answer((SCM, "YES"), (SCM_COMMAND, "git"), (SCM_TASKS, "commit , push"))
    assert terminal.exit_code() == 0
    assert settings(project) == {
        "maximumIterations": 25,
        "completionResponse": "FERTIG ✓",
        "outputTruncateChars": 5000,
        "streamAgentOutput": True,
        "includeIterationCountInPrompt": False,
        "agent": {"command": "my-agent", "flags": ["--model opus", "-v"]},
        "guardrails": [{"command": "make", "failAction": "REPLACE"}],
        "scm": {"command": "git", "tasks": ["commit", "push"]},
    }


def test_a_line_can_be_edited_with_arrow_keys(project: Path, terminal: Terminal) -> None:
    pytest.importorskip("readline")
    left = "\x1b[D"
    terminal.answer((AGENT, f"clude{left}{left}{left}a"), *SHORTEST[1:])
    assert terminal.exit_code() == 0
    assert settings(project)["agent"]["command"] == "claude"


def test_enter_takes_what_the_project_suggests_and_no_question_is_asked_twice(project: Path) -> None:
    (project / "Makefile").write_text("lint:\n\ntest:\n")
    (project / "pyrightconfig.json").write_text("{}")
    (project / "package.json").write_text("{}")
    (project / "package-lock.json").write_text("{}")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, timeout=30)
    terminal = Terminal(project, PATH=str(project.parent / "programs"))
    terminal.answer((AGENT, ""), (FLAGS, ""), (ITERATIONS, ""), (COMPLETION, ""))
    terminal.expect("Not proposed: pyright (pyright is not on your PATH)")
    terminal.answer(("Add guardrail command [make test]: ", ""), (FAIL_ACTION, ""), (HINT, ""))
    terminal.answer(("Add guardrail command [make lint]: ", "true"), (FAIL_ACTION, ""), (HINT, ""))
    terminal.answer(("Add guardrail command [make lint]: ", "-"))
    terminal.answer((GUARDRAIL, ""), (SCM, "y"), (SCM_COMMAND, ""), (SCM_TASKS, ""))
    terminal.answer(("Worktree setup command [npm ci --no-audit --no-fund]: ", ""))
    assert terminal.exit_code() == 0
    assert settings(project)["agent"] == {"command": "claude", "flags": []}
    assert settings(project)["guardrails"] == [
        {"command": command, "failAction": "APPEND"} for command in ("make test", "true")
    ]
    assert settings(project)["scm"] == {"command": "git", "tasks": ["commit"]}
    assert settings(project)["workspace"] == {"setup": "npm ci --no-audit --no-fund"}
    assert terminal.lines[-3:-1] == [
        "Commit .ralph/settings.json to share it; the rest of .ralph stays out of git.",
        NEXT,
    ]
    shown = ["git", "status", "--short", "-uall", ".ralph"]
    found = subprocess.run(shown, cwd=project, capture_output=True, text=True, timeout=30)
    assert found.stdout == "?? .ralph/settings.json\n"


# --- being interrupted -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answered", [0, 1, 4], ids=["at once", "after one answer", "near the end"])
@pytest.mark.parametrize("how", ["Ctrl-C", "Ctrl-D", "SIGTERM"])
def test_an_interrupted_conversation_writes_nothing(
    project: Path, terminal: Terminal, how: str, answered: int
) -> None:
    terminal.answer(*SHORTEST[:answered])
    terminal.expect(SHORTEST[answered][0])
    if how == "Ctrl-C":
        terminal.child.sendintr()
    elif how == "Ctrl-D":
        terminal.child.sendeof()
    else:
        terminal.child.kill(signal.SIGTERM)
    assert terminal.exit_code() == 130
    assert terminal.screen.endswith("\n")
    assert "Traceback" not in terminal.screen
    assert list(project.iterdir()) == []


def test_an_interrupted_overwrite_leaves_the_old_settings(project: Path) -> None:
    (project / ".ralph").mkdir()
    (project / ".ralph" / "settings.json").write_text('{"agent": {"command": "old"}}')
    terminal = Terminal(project)
    terminal.answer((OVERWRITE, "y"), (AGENT, "new"))
    terminal.expect(FLAGS)
    terminal.child.sendintr()
    assert terminal.exit_code() == 130
    assert settings(project) == {"agent": {"command": "old"}}
    assert [path.name for path in (project / ".ralph").iterdir()] == ["settings.json"]


# --- settings that are there already -----------------------------------------------------------------------


@pytest.fixture
def old(project: Path) -> Path:
    path = project / ".ralph" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"agent": {"command": "old", "flags": ["a"]}}')
    return path


@pytest.mark.parametrize("answer", ["", "n", "no", "x"])
def test_existing_settings_are_shown_and_kept_unless_the_user_agrees(
    project: Path, old: Path, answer: str
) -> None:
    terminal = Terminal(project)
    terminal.answer((OVERWRITE, answer))
    assert terminal.exit_code() == 0
    shown = '{\n  "agent": {\n    "command": "old",\n    "flags": [\n      "a"\n    ]\n  }\n}\n'
    assert "\n".join(terminal.lines).startswith(
        f"{shown}Loaded from .ralph/settings.json\nOverwrite? (y/N): {answer}\n"
    )
    assert old.read_text() == '{"agent": {"command": "old", "flags": ["a"]}}'
    assert [path.name for path in old.parent.iterdir()] == ["settings.json"]


def test_the_local_overlay_is_shown_merged_and_named(project: Path, old: Path) -> None:
    local = old.with_name("settings.local.json")
    local.write_text('{"agent": {"flags": ["b"], "environment": {"API_KEY": "s3cret"}}}')
    terminal = Terminal(project)
    terminal.answer((OVERWRITE, "n"))
    assert terminal.exit_code() == 0
    text = "\n".join(terminal.lines)
    shown, _, rest = text.partition("\nLoaded from ")
    assert rest.startswith(".ralph/settings.json (with local overlay from settings.local.json)\nOverwrite?")
    assert json.loads(shown) == {
        "agent": {"command": "old", "flags": ["b"], "environment": {"API_KEY": "[redacted]"}}
    }


@pytest.mark.parametrize("answer", ["y", "Y", "yes"])
def test_overwritten_settings_are_kept_beside_the_new_ones(project: Path, old: Path, answer: str) -> None:
    terminal = Terminal(project)
    terminal.answer((OVERWRITE, answer), *SHORTEST)
    assert terminal.exit_code() == 0
    assert settings(project)["agent"]["command"] == "amp"
    assert old.with_name("settings.json.bak").read_text() == '{"agent": {"command": "old", "flags": ["a"]}}'
    assert terminal.lines[-5:-1] == [
        "Settings written to .ralph/settings.json",
        "The old settings are kept in .ralph/settings.json.bak",
        NO_GUARDRAILS,
        NEXT,
    ]


def test_broken_settings_say_what_is_wrong_before_they_are_overwritten(project: Path, old: Path) -> None:
    old.write_text('{"agent": }')
    terminal = Terminal(project)
    terminal.answer((OVERWRITE, "y"), *SHORTEST)
    assert terminal.exit_code() == 0
    assert terminal.lines[0].startswith(".ralph/settings.json: not valid JSON: line 1, column 11: ")
    assert "Loaded from" not in terminal.screen
    assert old.with_name("settings.json.bak").read_text() == '{"agent": }'


def test_settings_in_the_projects_root_are_meant_from_a_folder_below(project: Path, old: Path) -> None:
    below = project / "src"
    below.mkdir()
    terminal = Terminal(below)
    terminal.answer((OVERWRITE, "y"), *SHORTEST)
    assert terminal.exit_code() == 0
    assert settings(project)["agent"]["command"] == "amp"
    assert f"Settings written to {project}/.ralph/settings.json" in terminal.screen


def test_what_could_not_be_saved_is_not_asked_for(project: Path) -> None:
    (project / ".ralph").write_text("")
    terminal = Terminal(project)
    assert terminal.exit_code() == 2
    assert "a directory is needed there" in terminal.screen
    assert AGENT not in terminal.screen


# --- without a terminal ------------------------------------------------------------------------------------


def test_without_a_terminal_it_refuses_and_tells_the_other_way(project: Path) -> None:
    done = scripted(project)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert "--yes" in done.stderr
    assert done.stdout == ""
    assert list(project.iterdir()) == []


def test_a_pipe_is_not_a_terminal(project: Path) -> None:
    done = subprocess.run(
        RALPH_INIT, cwd=project, input="claude\n\n\n\n\n\n", capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 2
    assert list(project.iterdir()) == []


def test_a_closed_standard_input_is_not_a_terminal(project: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" <&-', *RALPH_INIT],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


def test_the_scripted_way_writes_the_same_file(project: Path) -> None:
    done = scripted(
        project,
        "--yes",
        "--agent=claude",
        "--agent-flag=--model opus",
        "--agent-flag=-v",
        "--maximum-iterations=5",
        "--completion-response=FERTIG",
        "--guardrail=make test",
        "--guardrail",
        '{"command": "make lint", "failAction": "prepend", "hint": "Fix it."}',
        "--guardrail={ true; }",
        "--scm-command=git",
        "--scm-task=commit",
        "--scm-task=push",
    )
    assert (done.returncode, done.stderr) == (0, NEXT + "\n")
    assert done.stdout == "Settings written to .ralph/settings.json\n"
    assert list(settings(project).items()) == [
        ("maximumIterations", 5),
        ("completionResponse", "FERTIG"),
        ("outputTruncateChars", 5000),
        ("streamAgentOutput", True),
        ("includeIterationCountInPrompt", False),
        ("agent", {"command": "claude", "flags": ["--model opus", "-v"]}),
        (
            "guardrails",
            [
                {"command": "make test", "failAction": "APPEND"},
                {"command": "make lint", "failAction": "PREPEND", "hint": "Fix it."},
                {"command": "{ true; }", "failAction": "APPEND"},
            ],
        ),
        ("scm", {"command": "git", "tasks": ["commit", "push"]}),
    ]
    assert (project / ".ralph" / ".gitignore").exists()


def test_the_scripted_way_overwrites_only_with_force(project: Path, old: Path) -> None:
    refused = scripted(project, "--yes", "--agent-command", "new")
    assert refused.returncode == 2
    assert ".ralph/settings.json exists already\n  --force" in refused.stderr
    assert settings(project)["agent"]["command"] == "old"
    done = scripted(project, "--yes", "--force", "--agent-command", "new")
    assert done.returncode == 0
    assert settings(project)["agent"]["command"] == "new"
    assert "settings.json.bak" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--yes", "--agent", "x", "--agent-command"], "requires an argument"),
        (["--agent", "x", "--force"], "--force, --agent can only be used with --yes"),
        (["-m", "3"], "--maximum-iterations can only be used with --yes"),
        (["--yes", "--agent", " "], "agent.command: expected a string that is not empty"),
        (
            ["--yes", "--agent", "x", "--maximum-iterations", "0"],
            "it must be at least 1",
        ),
        (["--yes", "--agent", "x", "--guardrail", ""], "guardrails[0].command: expected a string"),
        (
            ["--yes", "--agent", "x", "--guardrail", '{"command": "a", "failAction": "b"}'],
            "guardrails[0].failAction: expected one of APPEND, PREPEND, REPLACE",
        ),
        (
            ["--yes", "--agent", "x", "--scm-command", "git"],
            "--scm-command and --scm-task go together",
        ),
        (["--yes", "--agent", "x", "--scm-task", "push"], "--scm-command and --scm-task go together"),
        (["--yes", "--agent", "x", "--project-dir", "gone"], "gone is not a directory"),
    ],
)
def test_wrong_flags_write_nothing(project: Path, arguments: list[str], message: str) -> None:
    done = scripted(project, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(project.iterdir()) == []


def test_another_project_can_be_given(project: Path, tmp_path: Path) -> None:
    done = scripted(tmp_path, "--yes", "--agent-command", "x", "--project-dir", "project")
    assert done.returncode == 0
    assert done.stdout == f"Settings written to {project}/.ralph/settings.json\n"
    assert settings(project)["agent"]["command"] == "x"
    assert f'ralph run --project-dir {project} "' in done.stderr


# --- what would make a first run a disappointment ----------------------------------------------------------


def test_an_agent_that_is_not_there_is_warned_of_and_still_written(project: Path) -> None:
    done = scripted(project, "--yes", "--agent-command", "no-such-agent", "--guardrail", "make test")
    assert done.returncode == 0
    warning, following = done.stderr.splitlines()
    assert warning.startswith("warning: agent not found: no-such-agent; install it, ")
    assert following.startswith("Next: install the agent, or name another with --agent, then ralph run")
    assert settings(project)["agent"]["command"] == "no-such-agent"


def test_an_agent_that_the_users_own_settings_define_is_there(project: Path) -> None:
    (project / ".ralph").mkdir()
    (project / ".ralph" / "settings.local.json").write_text('{"agents": {"mine": {"command": "claude"}}}')
    done = scripted(project, "--yes", "--agent-command", "mine", "--guardrail", "make test")
    assert (done.returncode, done.stderr) == (0, f"{NEXT}\n")


def test_yes_takes_the_agent_that_is_installed_and_what_the_project_suggests(project: Path) -> None:
    (project / "package.json").write_text("{}")
    (project / "package-lock.json").write_text("{}")
    (project / "Makefile").write_text("check: lint\nlint:\ntest: # all\n")
    done = scripted(project, "--yes")
    assert (done.returncode, done.stdout) == (0, "Settings written to .ralph/settings.json\n")
    assert settings(project)["agent"]["command"] == "claude"
    assert [each["command"] for each in settings(project)["guardrails"]] == ["make test", "make check"]
    suggested = "Guardrails, as this project suggests: make test (Makefile), make check (Makefile)"
    setup = "Worktrees of `ralph work` are prepared by: npm ci --no-audit --no-fund"
    assert done.stderr.splitlines() == [suggested, setup, NEXT]


def test_without_any_agent_yes_needs_one_and_a_question_still_has_an_answer(project: Path) -> None:
    environment = {**os.environ, "PATH": os.defpath}
    nobody = subprocess.run(
        [*RALPH_INIT, "--yes"], cwd=project, env=environment, capture_output=True, text=True, timeout=90
    )
    assert nobody.returncode == 2
    assert "--yes needs --agent: none that ralph knows is on PATH" in nobody.stderr
    assert list(project.iterdir()) == []
    terminal = Terminal(project, PATH=os.defpath)
    terminal.expect("None that ralph knows is on your PATH; any command that reads a prompt works.")
    terminal.answer((AGENT, ""), *SHORTEST[1:])
    assert terminal.exit_code() == 0
    assert "warning: agent not found: claude; install it (npm install" in terminal.screen
    assert NO_GUARDRAILS in terminal.screen


def test_a_path_below_home_is_an_agent_and_a_run_without_settings_names_the_checks(project: Path) -> None:
    """No shell expands what is typed as an answer, or quoted."""
    (project / "agent").write_text("#!/bin/sh\necho '<response>DONE</response>'\n")
    (project / "agent").chmod(0o755)
    (project / "Makefile").write_text("test:\n\ttouch ran\n")
    environment = {**os.environ, "HOME": str(project), "XDG_STATE_HOME": str(project / "state")}

    def ralph(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ralph", *arguments],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    run = ["run", "-p", "Reply with <response>DONE</response>."]
    said = ralph(*run, "--agent", "~/agent,claude")
    assert "this project suggests --guardrail 'make test'" in " ".join(said.split())
    assert not (project / "ran").exists()
    (project / "Makefile").unlink()
    assert "agent not found" not in ralph("init", "--yes", "--agent", "~/agent")
    assert settings(project)["agent"]["command"] == "~/agent"
    ralph(*run)
