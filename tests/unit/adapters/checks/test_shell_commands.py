"""One way to run a command that must pass, whoever requires it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.checks.commands import ShellCommands
from ralph.config.schema import GuardrailSettings, Settings
from ralph.domain.loop.events import LoopEvent, ProcessesEnded
from ralph.domain.loop.session_report import Ending
from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand
from ralph.domain.proof.verification_config import commands_of_merge, required_by
from ralph.domain.text.excerpt import Keep
from ralph.engine.ports import UNLIMITED, Command, Exit, Timeouts
from ralph.engine.stop_token import StopToken
from ralph.engine.tasks.verification import verify_merge
from ralph.wiring.requirements import guardrails_of, required_by_guardrail

NO_TESTS = b"\nRan 0 tests in 0.000s\n\nOK\n"


class Processes:
    """A process runner whose programs are (output, exit) pairs; the last one stays."""

    def __init__(self, *ends: tuple[bytes, Exit]) -> None:
        self.ends = list(ends)
        self.limits: list[Timeouts] = []
        self.folders: list[Path] = []

    async def run(
        self, command: Command, *, timeouts: Timeouts = UNLIMITED, on_output: Callable[[bytes], None] | None = None,
        stop: Awaitable[object] | None = None, **_: Any,
    ) -> Exit:  # fmt: skip
        self.limits.append(timeouts)
        self.folders.append(command.cwd)
        output, exit_ = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        assert on_output is not None
        on_output(output)
        return exit_


def ended(code: int = 0, output: bytes = b"", **more: Any) -> tuple[bytes, Exit]:
    return output, Exit(Ending.EXITED, code, 0.1, **more)


def run(
    required: RequiredCommand,
    processes: Processes,
    root: Path,
    *,
    events: list[LoopEvent] | None = None,
    is_stopping: bool = False,
    rerun: bool = False,
) -> CommandVerdict:
    async def go() -> CommandVerdict:
        control = StopToken()
        if is_stopping:
            control.request()
        return await ShellCommands(processes, root).run(
            required,
            log=root / "log",
            control=control,
            publish=(events if events is not None else []).append,
            rerun=rerun,
        )

    return asyncio.run(go())


def from_settings(**guardrail: Any) -> RequiredCommand:
    own = GuardrailSettings(command="./test", **guardrail)
    return guardrails_of(Settings(guardrails=(own,)))[0].required


ORIGINS = {
    "guardrail": from_settings(),
    "external": required_by({"command": "./test"}),
    "verifyCommand": required_by_guardrail(GuardrailSettings(command="./test"), Settings()),
    "merge": commands_of_merge([from_settings()], [])[0],
}


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(
    ("output", "passed"), [(NO_TESTS, False), (b"\nRan 2 tests in 0.000s\n\nOK\n", True), (b"", True)]
)
def test_tests_that_did_not_run_are_judged_alike(
    origin: str, output: bytes, passed: bool, tmp_path: Path
) -> None:
    verdict = run(ORIGINS[origin], Processes(ended(output=output)), tmp_path)
    assert verdict.passed is passed
    assert ("unittest ran no test" in verdict.reason) is not passed


def test_a_guardrail_may_allow_that(tmp_path: Path) -> None:
    assert run(from_settings(allow_empty=True), Processes(ended(output=NO_TESTS)), tmp_path).passed


def test_a_merge_gives_a_guardrail_the_time_that_it_has_everywhere(tmp_path: Path) -> None:
    """One without a limit used to be ended after 300 s where its work was merged, and there alone."""
    processes = Processes(ended())

    async def go() -> str:
        return await verify_merge(
            commands_of_merge([from_settings(), from_settings(timeout=7.0)], []),
            ShellCommands(processes, tmp_path),
            log=lambda number: tmp_path / f"{number}.log",
            control=StopToken(),
            publish=lambda event: None,
            rerun=False,
        )

    assert asyncio.run(go()) == ""
    assert processes.limits == [Timeouts(None, 1800.0), Timeouts(7.0, 1800.0)]


def test_a_failure_is_checked_by_a_second_run_if_that_is_wanted(tmp_path: Path) -> None:
    command = RequiredCommand(command="./test")
    flaky = [ended(1), ended(0)]
    assert not run(command, Processes(*flaky), tmp_path).passed
    verdict = run(command, Processes(*flaky), tmp_path, rerun=True)
    assert verdict.passed
    assert verdict.flaky == "failed (Command exited with 1, expected 0) and passed when it was run again"
    assert not run(RequiredCommand(command="x", rerun=False), Processes(*flaky), tmp_path, rerun=True).passed
    assert run(RequiredCommand(command="x", rerun=True), Processes(*flaky), tmp_path).passed


def test_nothing_is_run_again_after_a_stop(tmp_path: Path) -> None:
    processes = Processes(ended(1), ended(0))
    assert not run(RequiredCommand(command="x"), processes, tmp_path, is_stopping=True, rerun=True).passed
    assert len(processes.limits) == 1


@pytest.mark.parametrize("folder", ["../elsewhere", "/", "missing", "link"])
def test_a_working_dir_outside_of_the_workspace_is_an_error_and_nothing_is_run(
    folder: str, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    processes = Processes(ended())
    verdict = run(RequiredCommand(command="true", working_dir=folder), processes, root, rerun=True)
    assert (verdict.passed, verdict.errored, processes.folders) == (False, True, [])
    assert folder in verdict.reason


def test_it_runs_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    processes = Processes(ended())
    assert run(RequiredCommand(command="true", working_dir="inside"), processes, tmp_path).passed
    assert processes.folders == [tmp_path / "inside"]


def test_a_text_is_looked_for_in_all_of_the_output(tmp_path: Path) -> None:
    output = b"first word\n" + b"x" * 3_000_000 + b"\nlast word\n"
    for text in ("first word", "last word"):
        required = RequiredCommand(command="x", output_contains=text)
        assert run(required, Processes(ended(output=output)), tmp_path).passed


def test_a_runner_whose_words_were_cut_off_is_not_called_silent(tmp_path: Path) -> None:
    output = b"3 passed in 0.1s\n" + b"building\n" * 500_000
    assert run(RequiredCommand(command="pytest && make"), Processes(ended(output=output)), tmp_path).passed


def test_what_is_shown_of_the_output(tmp_path: Path) -> None:
    required = RequiredCommand(command="x", keep=Keep.HEAD, most_chars=5)
    verdict = run(required, Processes(ended(1, b"12345\n\n")), tmp_path)
    assert (verdict.excerpt, verdict.last_lines) == ("12345", ("12345",))
    assert run(required, Processes(ended(1, b"123456\n")), tmp_path).excerpt == "12345... [truncated]"


def test_what_failed_is_shown_first(tmp_path: Path) -> None:
    report = (
        b"FAIL: test_sum (cart.Cart)\n"
        + b"-" * 70
        + b"\nTraceback (most recent call last):\nAssertionError: 2 != 3\n\n"
    )
    output = (
        b"loading\n" * 500 + report + b"Ran 9 tests in 0.1s\n\nFAILED (failures=1)\n" + b"cleaning up\n" * 500
    )

    verdict = run(RequiredCommand(command="x", most_chars=500), Processes(ended(1, output)), tmp_path)

    assert verdict.excerpt.startswith("FAIL: test_sum (cart.Cart)\n")
    assert verdict.excerpt.endswith("cleaning up")
    assert verdict.last_lines == ("FAIL: test_sum (cart.Cart)", "AssertionError: 2 != 3")
    assert verdict.is_cut
    whole = run(RequiredCommand(command="x", most_chars=50_000), Processes(ended(1, output)), tmp_path)
    assert whole.excerpt == output.decode().rstrip("\n"), "an output that fits stays in order"
    head = RequiredCommand(command="x", keep=Keep.HEAD, most_chars=7)
    assert run(head, Processes(ended(1, output)), tmp_path).excerpt == "loading... [truncated]"


def test_what_it_leaves_running_is_told(tmp_path: Path) -> None:
    events: list[LoopEvent] = []
    run(RequiredCommand(command="x"), Processes(ended(left_behind=("sleep",))), tmp_path, events=events)
    assert events == [ProcessesEnded(("sleep",))]
