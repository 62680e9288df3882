"""How a process that does not end by itself is made to end."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ladder:
    """Seconds each signal is given to work before the next one; a step of 0 is left out.

    ``kill`` is how long the system may take to bury what was killed before we give up on it.
    """

    interrupt: float = 2.0
    terminate: float = 5.0
    kill: float = 5.0

    @property
    def steps(self) -> tuple[tuple[signal.Signals, float], ...]:
        steps = (
            (signal.SIGINT, self.interrupt),
            (signal.SIGTERM, self.terminate),
            (signal.SIGKILL, self.kill),
        )
        return tuple((number, seconds) for number, seconds in steps if seconds > 0)


USUAL = Ladder()

QUICK = Ladder(interrupt=0.0, terminate=0.5)
"""For a tree nobody waits for any more: the run was cancelled, or its output cannot be taken."""
