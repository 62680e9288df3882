"""A claim by a message on the task's bus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.supervision.message import BusReading, in_one_line
from ralph.engine.ports import Judging
from ralph.errors import RalphError
from ralph.values import dataclass, field

MAX_COMPLAINTS = 20


@dataclass(eq=False, slots=True)
class BusMessageProbe:
    """Looks for messages of one type since the last look. Messages of a child run do not count.

    ``read`` reads the bus from an offset on. What cannot be read claims nothing and is reported.
    """

    read: Callable[[int], BusReading]
    kind: str
    claim: Claim
    run: str = field(kw_only=True)
    complain: Callable[[str], None] = field(kw_only=True)
    offset: int = field(default=0, kw_only=True)
    _complaints: set[str] = field(init=False, default_factory=set)

    async def look(self, judging: Judging) -> Sequence[Signal]:
        return self.signals()

    def signals(self) -> tuple[Signal, ...]:
        """Finds each message once. Reads piece by piece: an agent may have written more than memory should hold."""
        found: list[Signal] = []
        has_more = True
        while has_more:
            try:
                reading = self.read(self.offset)
            except RalphError as error:
                self._complain_once(error.message)
                break
            for problem in reading.problems:
                self._complain_once(f"task message bus: {problem.text}")
            self.offset = reading.settled
            found += self._claims_in(reading)
            has_more = reading.has_more
        return tuple(found)

    def _claims_in(self, reading: BusReading) -> Iterator[Signal]:
        return (
            Signal(self.claim, f"bus {self.kind}", in_one_line(message.body))
            for message in reading.messages
            if message.type.casefold() == self.kind.casefold() and message.run in ("", self.run)
        )

    def _complain_once(self, message: str) -> None:
        if message not in self._complaints and len(self._complaints) < MAX_COMPLAINTS:
            self._complaints.add(message)
            self.complain(message)
