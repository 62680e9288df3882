"""How a process that does not end by itself is made to end."""

from __future__ import annotations

import signal

from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Ladder:
    """Seconds that each signal gets before the next one; a step of 0 is left out.

    ``kill`` is how long the system may take to end a killed process before we give up on it.
    """

    interrupt: float = 2.0
    terminate: float = 5.0
    kill: float = 5.0

    @property
    def steps(self) -> tuple[tuple[signal.Signals, float], ...]:
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
        seconds = (self.interrupt, self.terminate, self.kill)
        return tuple(step for step in zip(signals, seconds, strict=True) if step[1] > 0)


USUAL = Ladder()

QUICK = Ladder(interrupt=0.0, terminate=0.5)
"""For a tree that nobody waits for any more: the run was cancelled, or its output cannot be taken."""
