"""Where a run stands, and when that is put on record."""

from __future__ import annotations

import asyncio

from ralph.domain.loop.state import LoopState
from ralph.engine.parts import LoopParts
from ralph.engine.ports import Stateless
from ralph.errors import RalphError


class Progress:
    """The state that was saved last. It holds also if a step fails in the middle: its cost is known then.

    ``may_wait``: the record of a decision may wait until the next iteration begins, if that is at once.
    """

    def __init__(self, parts: LoopParts, state: LoopState) -> None:
        self._journal = parts.journal
        self._clock = parts.clock
        self._began = parts.clock.monotonic() - state.seconds
        self._saved = state
        self.may_wait = isinstance(parts.work, Stateless)
        self._due: asyncio.Handle | None = None
        self._failure: RalphError | None = None

    def now(self, state: LoopState) -> LoopState:
        """With the time that the run has taken, by a clock that nobody sets."""
        return state.timed(self._clock.monotonic() - self._began)

    @property
    def saved(self) -> LoopState:
        return self.now(self._saved)

    def save(self, state: LoopState) -> LoopState:
        """On disk when this returns."""
        self._saved = self.now(state)
        self.commit(self._saved)
        return self._saved

    def owe(self, state: LoopState) -> LoopState:
        """On disk as soon as anything is waited for; or together with what is saved before that, which spares a
        transaction. Nothing may be done about it in between that outlasts this process."""
        self._saved = self.now(state)
        if self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._pay_now)
        return self._saved

    def pay(self) -> None:
        """On disk now, if anything is owed."""
        if self._due is not None:
            self.commit(self._saved)
        self.raise_failure()

    def commit(self, state: LoopState) -> None:
        """As it is, without the time that has passed since."""
        self.raise_failure()
        if self._due is not None:
            self._due.cancel()
            self._due = None
        self._journal.commit(state)

    def _pay_now(self) -> None:
        try:
            self.pay()
        except RalphError as error:
            self._failure = (
                error  # raised where the run can end by it: before the next check, or whatever else begins
            )

    def raise_failure(self) -> None:
        """For which what was owed could not be written, if that is so."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
