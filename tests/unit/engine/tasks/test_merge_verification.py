"""Merged work is verified once more: in order, until something fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ralph.domain.loop.events import LoopEvent, Warned
from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand
from ralph.engine.stop_token import StopToken
from ralph.engine.tasks.verification import verify_merge


class Commands:
    """Each command has its verdict."""

    def __init__(self, **verdicts: CommandVerdict) -> None:
        self.verdicts = verdicts
        self.ran: list[tuple[str, Path, bool]] = []

    async def run(
        self, required: RequiredCommand, *, log: Path, rerun: bool = False, **_: Any
    ) -> CommandVerdict:
        self.ran.append((required.command, log, rerun))
        return self.verdicts[required.command]


def verify(commands: Commands, *names: str) -> tuple[str, list[LoopEvent]]:
    events: list[LoopEvent] = []

    async def go() -> str:
        return await verify_merge(
            [RequiredCommand(command=name) for name in names],
            commands,
            log=lambda number: Path(f"{number}.log"),
            control=StopToken(),
            publish=events.append,
            rerun=True,
        )

    return asyncio.run(go()), events


def test_every_command_is_run_with_a_log_of_its_own() -> None:
    commands = Commands(one=CommandVerdict(passed=True), two=CommandVerdict(passed=True))
    assert verify(commands, "one", "two") == ("", [])
    assert commands.ran == [("one", Path("1.log"), True), ("two", Path("2.log"), True)]


def test_the_first_failure_ends_it_and_is_told() -> None:
    commands = Commands(one=CommandVerdict(passed=False, reason="Command exited with 1", excerpt="why"))
    assert verify(commands, "one", "two")[0] == "`one` Command exited with 1\nwhy"
    assert len(commands.ran) == 1


def test_a_pass_that_took_two_runs_is_told() -> None:
    commands = Commands(one=CommandVerdict(passed=True, failed_before="it crashed"))
    wrong, events = verify(commands, "one")
    assert wrong == ""
    assert events == [Warned("after the merge, `one` failed (it crashed) and passed when it was run again")]
