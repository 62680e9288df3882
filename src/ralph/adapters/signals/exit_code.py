"""A claim by the exit code of the agent."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Judging


class ExitCodeProbe:
    """Only of a process that came to its own end."""

    def __init__(self, code: int, claim: Claim) -> None:
        self._code = code
        self._claim = claim

    async def look(self, judging: Judging) -> Sequence[Signal]:
        report = judging.report
        if report.ending is Ending.EXITED and report.exit_code == self._code:
            return (Signal(self._claim, f"exit {self._code}"),)
        return ()
