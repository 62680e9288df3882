"""Interviewer an agent's program about itself: what its answers mean."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from ralph.domain.loop.session_report import Ending
from ralph.domain.views.health import Finding, Health
from ralph.engine.ports import UNLIMITED, Command, Exit, Running, Timeouts
from ralph.operations.agent_examination import PROBE_SECONDS, Interviewer, examine_agent

HELP = "--output-format --verbose --dangerously-skip-permissions"
GOOD = {"--version": (0, "2.1.325 (Claude Code)"), "--help": (0, HELP), "auth": (0, "{}")}
LATE = -9


class Program:
    """Answers each first argument with an exit status and words; ``LATE`` is one that was ended for its silence."""

    def __init__(self, answers: Mapping[str, tuple[int, str]]) -> None:
        self._answers = answers
        self.asked: list[tuple[str, ...]] = []

    async def run(
        self,
        command: Command,
        *,
        timeouts: Timeouts = UNLIMITED,
        on_start: Callable[[Running], None] | None = None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        log: Path | None = None,
        stop: Awaitable[object] | None = None,
    ) -> Exit:
        assert timeouts.total == PROBE_SECONDS
        self.asked.append(command.argv)
        code, words = self._answers[command.argv[1]]
        if on_output is not None:
            on_output(words.encode())
        return Exit(Ending.TIMED_OUT if code == LATE else Ending.EXITED, code, 1.0)


def finding(
    tmp_path: Path,
    agent: str = "claude",
    *,
    needed: bool = True,
    answers: Mapping[str, tuple[int, str]] | None = None,
    **variables: str,
) -> Finding:
    program = tmp_path / agent
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path), **variables}
    asking = Interviewer(Program({**GOOD, **(answers or {})}), tmp_path, environ, asyncio.Semaphore(2))
    return asyncio.run(examine_agent(agent, agent, asking, needed=needed))


def test_a_healthy_agent_says_its_version_and_that_it_is_logged_in(tmp_path: Path) -> None:
    found = finding(tmp_path)

    assert (found.health, found.text, found.advice) == (Health.GOOD, "2.1.325, logged in", ())
    assert found.details == {
        "installed": True,
        "path": str(tmp_path / "claude"),
        "version": "2.1.325",
        "knownGood": "2.1",
        "tested": "2.1.325",
        "loggedIn": True,
        "missingFlags": [],
    }


@pytest.mark.parametrize(
    ("answers", "health", "text", "advice"),
    [
        ({"auth": (1, "{}")}, Health.BAD, "2.1.325, not logged in", "log in: start `claude` once"),
        ({"auth": (LATE, "")}, Health.DOUBTFUL, "2.1.325, no sign of a login", "if it is not logged in"),
        ({"--version": (0, "1.0.3")}, Health.DOUBTFUL, "1.0.3, too old", "update it: npm install"),
        ({"--version": (LATE, "")}, Health.DOUBTFUL, "no answer within 10 s", "run `claude --version`"),
        (
            {"--version": (1, "node: too old\n")},
            Health.BAD,
            "does not start: node: too old",
            "install it again",
        ),
        ({"--version": (126, "")}, Health.BAD, "does not start: exit status 126", "install it again"),
        ({"--help": (0, "--output-format")}, Health.BAD, "does not know --verbose", "update it: npm install"),
        (
            {"--version": (0, "2.2.0"), "--help": (0, "--output-format")},
            Health.BAD,
            "2.2.0 (newer than the tested 2.1.325), does not know --verbose",
            "update ralph, or install what it was tested with: npm install -g @anthropic-ai/claude-code@2.1.325",
        ),
    ],
)
def test_each_thing_that_is_wrong_says_what_to_do(
    tmp_path: Path, answers: Mapping[str, tuple[int, str]], health: Health, text: str, advice: str
) -> None:
    found = finding(tmp_path, answers=answers)

    assert found.health is health
    assert text in found.text
    assert any(advice in line for line in found.advice)


@pytest.mark.parametrize("help_", [(1, HELP), (0, ""), (0, "something else"), (LATE, "--verbose")])
def test_a_help_text_that_cannot_be_believed_accuses_nobody(tmp_path: Path, help_: tuple[int, str]) -> None:
    assert finding(tmp_path, answers={"--help": help_}).health is Health.GOOD


def test_a_key_in_the_environment_is_a_login_and_nobody_is_asked(tmp_path: Path) -> None:
    found = finding(tmp_path, answers={"auth": (1, "")}, ANTHROPIC_API_KEY="k")

    assert found.text == "2.1.325, logged in"


def test_an_agent_that_cannot_be_asked_is_judged_by_its_files(tmp_path: Path) -> None:
    answers = {"--version": (0, "0.61.0"), "--help": (0, "--output-format --yolo --skip-trust")}

    assert finding(tmp_path, "gemini", answers=answers).health is Health.DOUBTFUL
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "oauth_creds.json").write_text("{}")
    assert finding(tmp_path, "gemini", answers=answers).text == "0.61.0, logged in"


def test_codex_with_a_model_of_the_users_own_needs_no_login(tmp_path: Path) -> None:
    answers = {"--version": (0, "codex-cli 0.166.0"), "exec": (0, ""), "login": (1, "Not logged in")}

    assert finding(tmp_path, "codex", answers=answers).health is Health.BAD
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('model_provider = "lab"\n')
    assert finding(tmp_path, "codex", answers=answers).health is Health.DOUBTFUL


@pytest.mark.parametrize(
    ("output", "health"),
    [
        ("┌  Credentials\n└  0 credentials\n", Health.DOUBTFUL),
        ("┌  Credentials\n└  2 credentials\n", Health.GOOD),
        ("└  0 credentials\n┌  Environment\n└  1 environment variable\n", Health.GOOD),
    ],
)
def test_opencode_lists_what_it_can_log_in_with(tmp_path: Path, output: str, health: Health) -> None:
    answers = {"--version": (0, "1.18.33"), "run": (0, "--format --auto"), "auth": (0, output)}

    assert finding(tmp_path, "opencode", answers=answers).health is health


def test_what_is_not_installed_is_bad_only_if_it_is_needed(tmp_path: Path) -> None:
    asking = Interviewer(Program(GOOD), tmp_path, {"PATH": str(tmp_path)}, asyncio.Semaphore(1))

    needed = asyncio.run(examine_agent("qwen", "qwen", asking, needed=True))
    other = asyncio.run(examine_agent("qwen", "qwen", asking, needed=False))

    assert (needed.health, needed.text) == (Health.BAD, "not installed")
    assert needed.advice == ("to install it: npm install -g @qwen-code/qwen-code",)
    assert (other.health, other.advice) == (Health.ABSENT, ())
