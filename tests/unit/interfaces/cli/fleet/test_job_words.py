"""The words after `--`: read by the command that a worker will run, and refused here if they make no sense there."""

from __future__ import annotations

import io
import sys
from pathlib import PurePath

import click
import pytest

from ralph.errors import UsageError
from ralph.interfaces.cli.fleet.words import read_command, read_flags


@pytest.mark.parametrize(
    "words",
    [
        ("run", "Fix the tests", "-m", "20", "--agent", "claude,codex"),
        ("run", "-f", "prompts/PROMPT.md", "--guardrail", "pytest -q", "--max-cost", "5"),
        ("run", "-p", "x", "--sandbox", "--proof", "strict"),
        ("supervise", "--task", "nightly", "--", "./agent.sh", "--detach"),
        ("plan", "run", "-n", "3"),
        ("ship", "--merge", "squash"),
    ],
)
def test_words_are_kept_as_they_are(words: tuple[str, ...]) -> None:
    assert read_command(words).words == words


def test_what_is_known_of_them() -> None:
    found = read_command(("run", "-f", "PROMPT.md", "--agent", "claude,codex"))

    assert (found.agent, found.title, found.file) == ("claude", "", PurePath("PROMPT.md"))
    assert read_command(("-p", "Fix it\nnow")).words[0] == "run"
    assert read_command(("-p", "Fix it\nnow")).title == "Fix it"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to submit"),
        (("run",), "a prompt is needed"),
        (("supervise",), "a prompt is needed"),
        (("work", "T-1"), "each of its tasks becomes a job"),
        (("plan", "status"), "cannot be submitted"),
        (("Fix it",), "cannot be submitted"),
        (("run", "x", "y"), "must be one argument"),
        (("run", "x", "-f", "PROMPT.md"), "given twice"),
        (("supervise", "-p", "x", "-f", "PROMPT.md"), "only one of"),
        (("run", "-f", "/etc/passwd"), "not a file of the repository"),
        (("run", "-f", "../PROMPT.md"), "not a file of the repository"),
        (("run", "x", "--detach"), "--detach is not for jobs"),
        (("run", "x", "--ui"), "--ui is not for jobs"),
        (("run", "x", "--json"), "--json is not for jobs"),
        (("run", "x", "--dry-run"), "--dry-run is not for jobs"),
        (("run", "x", "--trust"), "--trust is not for jobs"),
        (("run", "x", "--project-dir", "/srv"), "--project-dir is not for jobs"),
        (("run", "x", "--notify", "bell"), "--notify is not for jobs"),
        (("run", "x", "--no-sandbox"), "a job cannot do without a sandbox"),
        (("run", "x", "--sandbox=none"), "a job cannot do without a sandbox"),
        (("supervise", "-p", "x", "--task-dir", "/srv"), "--task-dir is not for jobs"),
        (("ship", "--watch"), "--watch is not for jobs"),
    ],
)
def test_what_makes_no_sense_on_a_worker_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_command(words)


@pytest.mark.parametrize(
    "words", [("run", "x", "-m", "0"), ("run", "x", "--bogus"), ("ship", "--merge", "no")]
)
def test_mistakes_are_the_commands_own_to_find(words: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError):
        read_command(words)


@pytest.mark.parametrize("flag", [("-f", "-"), ("-f-",), ("--prompt-file", "-"), ("--prompt-file=-",)])
def test_a_prompt_on_standard_input_goes_into_the_words(
    flag: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("-- Fix äll\nof it\n".encode())))

    found = read_command(("run", *flag, "-m", "3"))

    assert found.words == ("run", "--prompt=-- Fix äll\nof it\n", "-m", "3")
    assert found.title == "-- Fix äll"


def test_standard_input_is_not_read_for_a_command_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    with pytest.raises(UsageError, match="--detach"):
        read_command(("run", "-f", "-", "--detach"))


def test_an_empty_standard_input_is_no_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" \n")))

    with pytest.raises(UsageError, match="standard input is empty"):
        read_command(("run", "-f", "-"))


def test_flags_of_tasks() -> None:
    found = read_flags(("--agent", "claude", "--max-cost", "5"))

    assert (found.words, found.agent) == (("--agent", "claude", "--max-cost", "5"), "claude")
    assert read_flags(()).words == ()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("work", "--agent", "claude"), "only options of `ralph work`"),
        (("--agent", "claude", "T-1"), "is no option"),
        (("--from", "github:octo/shop"), "--from is not for jobs"),
        (("--max-parallel", "3"), "--max-parallel is not for jobs"),
        (("--watch",), "--watch is not for jobs"),
        (("--no-sandbox",), "without a sandbox"),
    ],
)
def test_flags_that_make_no_sense_for_a_task(flags: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_flags(flags)
