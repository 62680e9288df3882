"""The supervised loop as a library, with a callback for the agent."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralph import supervise
from ralph.adapters.bus.message_bus import MessageBus
from ralph.domain.loop.decision import Outcome
from ralph.engine.loop import RunResult
from ralph.engine.stop_token import StopToken
from ralph.errors import ConfigError, UsageError
from ralph.testing.fake_clock import FakeClock


def run(
    folder: Path, root: Callable[[int], int | None], attempts: list[int] | None = None, **options: Any
) -> RunResult:
    async def runner(attempt: int) -> int | None:
        if attempts is not None:
            attempts.append(attempt)
        return root(attempt)

    async def go() -> RunResult:
        return await supervise(runner, folder, **{"clock": FakeClock(), **options})

    return asyncio.run(go())


def done_at(folder: Path, number: int, code: int = 0) -> Callable[[int], int]:
    def root(attempt: int) -> int:
        if attempt == number:
            (folder / "DONE").touch()
        return code

    return root


def test_immediate_success_needs_the_done_file_and_not_only_exit_code_0(tmp_path: Path) -> None:
    attempts: list[int] = []
    result = run(tmp_path / "t", done_at(tmp_path / "t", 0), attempts)
    assert (result.outcome, attempts) == (Outcome.COMPLETED, [0])


def test_exit_code_0_alone_does_not_stop_the_loop(tmp_path: Path) -> None:
    attempts: list[int] = []
    result = run(tmp_path / "t", lambda attempt: 0, attempts, max_restarts=4)
    assert (result.outcome, attempts) == (Outcome.EXHAUSTED, [0, 1, 2, 3])


def test_eventual_success_after_restarts(tmp_path: Path) -> None:
    result = run(tmp_path / "t", done_at(tmp_path / "t", 5, code=1))
    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 6)


def test_exhausted_restarts_are_an_error_on_the_task_bus(tmp_path: Path) -> None:
    result = run(tmp_path / "t", lambda attempt: 1, max_restarts=2, project="shop", task="t")
    assert result.reason == "max restarts exceeded (2)"
    posted = MessageBus(tmp_path / "t" / "TASK-MESSAGE-BUS.md").read().messages
    assert ("ERROR", "max restarts exceeded (2)", "shop", "t") in [
        (message.type, message.body, message.project, message.task) for message in posted
    ]


def test_a_done_file_before_the_first_run_completes_it_and_tells_the_project(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "DONE").touch()
    attempts: list[int] = []
    assert run(tmp_path / "t", lambda attempt: 0, attempts).outcome is Outcome.COMPLETED
    assert attempts == []
    (fact,) = MessageBus(tmp_path / "PROJECT-MESSAGE-BUS.md").read().messages
    assert fact.type == "FACT"


def test_a_stop_before_the_run_cancels_it(tmp_path: Path) -> None:
    async def runner(attempt: int) -> int:
        raise AssertionError("never started")

    async def go() -> RunResult:
        token = StopToken()
        token.request()
        return await supervise(runner, tmp_path / "t", control=token)

    assert asyncio.run(go()).outcome is Outcome.CANCELLED


def test_cancelling_the_task_ends_the_loop(tmp_path: Path) -> None:
    async def go() -> None:
        started = asyncio.Event()

        async def runner(attempt: int) -> int:
            started.set()
            await asyncio.Event().wait()
            return 0

        task = asyncio.ensure_future(supervise(runner, tmp_path / "t"))
        await started.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(go())


@pytest.mark.parametrize(
    "error", [FileNotFoundError("agent-cli"), PermissionError("agent-cli"), ConfigError("key")]
)
def test_a_fatal_error_ends_the_loop_at_once(tmp_path: Path, error: Exception) -> None:
    def root(attempt: int) -> int:
        raise error

    attempts: list[int] = []
    result = run(tmp_path / "t", root, attempts)
    assert (result.outcome, attempts) == (Outcome.FAILED, [0])
    assert result.reason.startswith("Fatal error: ")


def test_any_other_error_is_a_failed_launch(tmp_path: Path) -> None:
    def root(attempt: int) -> int:
        raise ConnectionError("network")

    attempts: list[int] = []
    result = run(tmp_path / "t", root, attempts, max_restarts=3)
    assert (result.outcome, attempts) == (Outcome.EXHAUSTED, [0, 1, 2])


def test_the_restart_delay_is_slept_after_every_launch_but_the_last(tmp_path: Path) -> None:
    clock = FakeClock()
    run(tmp_path / "t", done_at(tmp_path / "t", 3), clock=clock, restart_delay=5.0)
    assert sum(clock.slept) == 15.0


def test_a_callback_that_takes_too_long_is_cancelled_and_has_failed(tmp_path: Path) -> None:
    cancelled: list[int] = []

    async def hangs(attempt: int) -> int:
        if attempt == 2:
            (tmp_path / "DONE").touch()
            return 0
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(attempt)
        return 0

    said: list[str] = []
    result = asyncio.run(
        supervise(
            hangs,
            tmp_path,
            agent_timeout=0.05,
            clock=FakeClock(),
            listeners=[lambda event, at: said.append(str(event))],
        )
    )

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 3)
    assert cancelled == [0, 1]
    assert any("Agent timeout after 0.05s, killing process group" in line for line in said)


@pytest.mark.parametrize("signal", ["code", "marker", "message"])
def test_an_agent_that_waits_is_not_restarted(tmp_path: Path, signal: str) -> None:
    def root(attempt: int) -> int:
        if signal == "marker":
            (tmp_path / "t" / "WAIT_WITHOUT_RESTART").touch()
        if signal == "message":
            MessageBus(tmp_path / "t" / "TASK-MESSAGE-BUS.md").post("wait_without_restart", "for input")
        return 42 if signal == "code" else 0

    attempts: list[int] = []
    result = run(tmp_path / "t", root, attempts)
    assert (result.outcome, attempts) == (Outcome.WAITING, [0])


def test_children_are_waited_for(tmp_path: Path) -> None:
    clock = FakeClock()
    looks = iter([["child"], []])
    run(
        tmp_path / "t",
        done_at(tmp_path / "t", 0),
        clock=clock,
        children=lambda: next(looks),
        poll_interval=3.0,
    )
    assert sum(clock.slept) == 3.0


@pytest.mark.parametrize(
    "wrong",
    [{"max_restarts": 0}, {"restart_delay": -1}, {"poll_interval": 0}, {"task": "a/b"}, {"project": ".."}],
)
def test_arguments_that_make_no_sense_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        run(tmp_path / "t", lambda attempt: 0, **wrong)


def test_the_example_in_the_documentation_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "supervise.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.stdout == "launch 0\nlaunch 1\nlaunch 2\ncompleted 3\n", ran.stderr
