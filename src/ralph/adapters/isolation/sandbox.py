"""What every kind of sandbox can do."""

from __future__ import annotations

from typing import Protocol

from ralph.domain.sandbox.kind import SandboxKind
from ralph.domain.sandbox.policy import Guarantees
from ralph.engine.ports import Command, Exit, ProcessRunner


class Sandbox(Protocol):
    """Opened once per run, asked once per process, closed with the run."""

    @property
    def kind(self) -> SandboxKind: ...

    @property
    def guarantees(self) -> Guarantees: ...

    async def survey(self, runner: ProcessRunner) -> None:
        """Find out what this machine offers; from then on ``guarantees`` are those of this machine."""
        ...

    async def open(self, runner: ProcessRunner) -> None:
        """Make what outlives single processes. ``runner`` is the one without a sandbox."""
        ...

    def wrap(self, command: Command) -> Command:
        """The same command, inside."""
        ...

    def failure(self, exit_: Exit, stderr: str) -> str:
        """Why the sandbox itself could not be made; empty: it was the program's own doing."""
        ...

    async def settle(self, runner: ProcessRunner, exit_: Exit) -> None:
        """A process is over and no other runs in here: end what it left behind."""
        ...

    async def close(self, runner: ProcessRunner) -> None: ...
