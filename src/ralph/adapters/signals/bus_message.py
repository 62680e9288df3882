"""A claim by a message on the task's bus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.supervision.message import in_one_line
from ralph.domain.supervision.message_text import BusReading
from ralph.engine.ports import Judging
from ralph.errors import RalphError

MAX_COMPLAINTS = 20


class BusMessageProbe:
    """Looks for messages of one type that came since the last look. A child run's messages are its own affair.

    ``read`` reads the bus from an offset on. What cannot be read claims nothing, and is complained of.
    """

    def __init__(
        self,
        read: Callable[[int], BusReading],
        kind: str,
        claim: Claim,
        *,
        run: str,
        complain: Callable[[str], None],
        offset: int = 0,
    ) -> None:
        self._read = read
        self._kind = kind
        self._claim = claim
        self._run = run
        self._complain = complain
        self._offset = offset
        self._told: set[str] = set()

    async def look(self, judging: Judging) -> Sequence[Signal]:
        return self.signals()

    def signals(self) -> tuple[Signal, ...]:
        """Each message is found once. Piece by piece: an agent may have written more than would be good to hold."""
        found: list[Signal] = []
        has_more = True
        while has_more:
            try:
                reading = self._read(self._offset)
            except RalphError as error:
                self._tell(error.message)
                break
            for problem in reading.problems:
                self._tell(f"task message bus: {problem.text}")
            self._offset = reading.settled
            found += self._claims_in(reading)
            has_more = reading.has_more
        return tuple(found)

    def _claims_in(self, reading: BusReading) -> Iterator[Signal]:
        return (
            Signal(self._claim, f"bus {self._kind}", in_one_line(message.body))
            for message in reading.messages
            if message.type.casefold() == self._kind.casefold() and message.run in ("", self._run)
        )

    def _tell(self, message: str) -> None:
        if message not in self._told and len(self._told) < MAX_COMPLAINTS:
            self._told.add(message)
            self._complain(message)
