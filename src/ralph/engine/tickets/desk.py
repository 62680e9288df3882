"""The desk between trackers and ``ralph work``: takes tickets in, holds them, and tells them what became of their work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ralph.domain.loop.events import Warned
from ralph.domain.tasks.refusal import NotOurs
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.text.figures import plural
from ralph.domain.tickets.coverage import TOO_LATE
from ralph.domain.tickets.intake import Intake
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.pace import until_next_look, until_next_try
from ralph.domain.tickets.told import asked_for
from ralph.engine.ports import Clock, Control, Publish
from ralph.engine.rest import rest
from ralph.engine.tickets.holds import TicketHolds
from ralph.engine.tickets.intake import TicketIntake, refresh, take_in
from ralph.engine.tickets.ports import Source, TicketMemory
from ralph.engine.tickets.write_back import WriteBack
from ralph.errors import RalphError, ServiceAway, ServiceRefused
from ralph.values import dataclass, field

LATER = "the next `ralph work` tells them"
LAST_WORDS = 60.0
"""Seconds for what is left to tell when the work is over."""
REFUSED_AGAIN = 300.0
"""Seconds until a source that refused a ticket is asked for one again."""
LONGEST_WAIT = 3600.0
"""Seconds for which a tracker that is away is waited for before a ticket is begun, unless ralph stays anyway."""
SHOWN = 5


@dataclass(slots=True, kw_only=True)
class TicketDesk:
    """``intake`` None: nothing new is taken in, but the tickets of known tasks are held and told. ``asks``: whether tickets
    that are not ready are told so. ``poll``: seconds between two looks. ``covers``: whether this run is prepared for a ticket."""

    memory: TicketMemory
    open_source: Callable[[str], Source]
    intake: TicketIntake | None
    holds: TicketHolds
    write_back: WriteBack
    clock: Clock
    control: Control
    publish: Publish
    poll: float
    stays: bool = False
    asks: bool = False
    covers: Callable[[KnownTicket], bool] = lambda known: True
    _said: set[str] = field(default_factory=set, init=False)  # what the user was told already
    _asked: dict[str, str] = field(default_factory=dict, init=False)  # what was asked, by ticket
    _failures: int = field(default=0, init=False)  # looks in a row for which something was away
    # By source: since when it is away, and how often it was; and until when it is not asked for tickets.
    _away: dict[str, tuple[float, int]] = field(default_factory=dict, init=False)
    _closed: dict[str, float] = field(default_factory=dict, init=False)
    _troubles: set[str] = field(default_factory=set, init=False)  # since the last look without any
    _looking: asyncio.Task[float] | None = field(default=None, init=False)

    async def begin(self) -> None:
        """Take in what is there now. Raises whatever is wrong with the source, for nothing was begun yet; but whoever stays
        waits for one that is away."""
        if self.intake is None:
            return
        try:
            problems = await self._take_in(self.intake)
        except ServiceAway as away:
            if not self.stays:
                raise
            self._failures, problems = 1, [away]
        for problem in problems:
            self._trouble(problem)

    async def look_after(self) -> None:
        """Until it is cancelled: looks for tickets, and tells them what is new."""
        seconds = until_next_look(self.poll, self._failures)
        while not self.control.stopping:
            await rest(seconds, clock=self.clock, control=self.control)
            if self.control.stopping:  # nothing more is begun, so nothing more is taken in
                return
            self._looking = asyncio.create_task(self._look())
            # Whoever cancels this must not cut a deed in two: nobody would know whether it was done.
            seconds = await asyncio.shield(self._looking)

    async def take(self, task: Task) -> NotOurs | None:
        """Put this machine's name on the ticket of a task that is about to be begun. None: it is ours, or no ticket."""
        known = self.memory.of_task(task.id)
        if known is None:
            return None
        if not self.covers(known):
            return NotOurs(f"its ticket {known.shown} {TOO_LATE}")
        # One that was accepted is ours; and whoever merges its pull request may have closed the ticket.
        if task.status is TaskStatus.ACCEPTED:
            return None
        if self.control.stopping:
            return NotOurs(f"stopped before its ticket {known.shown} was taken")
        if known.waits:
            again = self.poll if self.intake is not None else None
            return NotOurs(f"its ticket {known.shown} is not ready: {known.waits}", again)
        if (left := self._closed.get(known.source, 0.0) - self.clock.monotonic()) > 0:
            return NotOurs(f"{known.shown} waits for {known.source}", left)
        try:
            source = self.open_source(known.source)
            why = await self.holds.take(source, known) if known.is_shared else ""
            if not why and (why := await refresh(self.memory, source, known)) and known.is_shared:
                await self.holds.free(source, known)
        except ServiceAway as away:
            return self._put_off(known, away)
        except RalphError as refused:
            return self._be_refused(known, refused)
        self._away.pop(known.source, None)
        again = until_next_try(self.poll, self.holds.holder) if self.stays else None
        return NotOurs(why, again) if why else None

    def _put_off(self, known: KnownTicket, away: ServiceAway) -> NotOurs:
        """A tracker that is away is asked again, but not for ever unless ralph stays anyway, and not for each ticket."""
        now = self.clock.monotonic()
        began, failures = self._away.get(known.source, (now, 0))
        self._away[known.source] = (began, failures + 1)
        if not self.stays and now - began > LONGEST_WAIT:
            return NotOurs(f"{known.shown} could not be taken: {away.message}")
        self._warn(f"{known.shown} waits to be taken: {away.message}")
        wait = until_next_look(self.poll, failures + 1, after=away.after)
        self._closed[known.source] = now + wait
        return NotOurs(f"{known.shown} waits to be taken: {away.message}", wait)

    def _be_refused(self, known: KnownTicket, refused: RalphError) -> NotOurs:
        """What is refused for one ticket is refused for most: whoever stays asks again, but rarely."""
        told = f"{known.shown} could not be taken: {refused.message}"
        self._warn(told)
        if isinstance(refused, ServiceRefused):
            self._closed[known.source] = self.clock.monotonic() + REFUSED_AGAIN
        return NotOurs(told, REFUSED_AGAIN if self.stays else None)

    async def close(self) -> Sequence[str]:
        """Tell what is left to tell, for a minute at most; gives what the user should know."""
        try:
            async with asyncio.timeout(LAST_WORDS):
                return await self._close()
        except TimeoutError:
            return (f"{self._untold_words()}: the tracker is too slow; {LATER}",)
        finally:
            if self._looking is not None:
                self._looking.cancel()
                await asyncio.wait({self._looking})

    async def _close(self) -> Sequence[str]:
        if self.control.stopping_now:
            return ()
        if self._looking is not None:
            await asyncio.wait({self._looking})
        try:
            problems = await self.write_back.run()
            left = len(self.memory.untold()) if problems else 0
        except RalphError as error:
            return (f"tickets could not be told what became of the work: {error.message}",)
        if not left:
            return ()
        reasons = "; ".join(dict.fromkeys(problem.message for problem in problems))
        return (f"{self._untold_words()} ({reasons}); {LATER}",)

    def _untold_words(self) -> str:
        return f"{plural(len(self.memory.untold()), 'ticket')} could not be told what became of the work"

    # --- one look ---

    async def _look(self) -> float:
        """Seconds until the next one."""
        problems: list[RalphError] = []
        try:
            problems += await self._take_in(self.intake) if self.intake is not None else ()
        except RalphError as error:
            problems.append(error)
        try:
            problems += await self.write_back.run()
        except RalphError as error:
            problems.append(error)
        for problem in problems:
            self._trouble(problem)
        self._troubles = self._troubles if problems else set()
        away = [one for one in problems if isinstance(one, ServiceAway)]
        self._failures = self._failures + 1 if away else 0
        after = max((one.after or 0.0 for one in away), default=0.0)
        return until_next_look(self.poll, self._failures, after=after)

    async def _take_in(self, intake: TicketIntake) -> Sequence[RalphError]:
        """Gives what kept tickets from being asked: that is no reason not to work on the others."""
        found = await intake.look()
        if self.control.stopping:
            return ()
        take_in(self.memory, found)
        self._report(intake.source.name, found)
        return await self._ask(intake.source, found)

    def _report(self, source: str, found: Intake) -> None:
        """What changed, and what is not ready: each once, however often it is seen."""
        if found.new:
            names = ", ".join(one.known.task_id for one in found.new[:SHOWN])
            more = f" and {len(found.new) - SHOWN} more" if len(found.new) > SHOWN else ""
            self.publish(Warned(f"{source}: {plural(len(found.new), 'new task')}: {names}{more}", mild=True))
        for one in (*found.new, *found.changed, *found.edited):
            for left_out in one.ticket.left_out:
                self._warn(
                    f"{one.known.task_id}: left out of its ticket {one.ticket.shown}: {left_out}", mild=True
                )
        for one in found.edited:
            told = "was edited after the work had begun; the agent is told, and is judged as before"
            self.publish(Warned(f"{one.known.task_id}: its ticket {one.ticket.shown} {told}"))
        for one in found.restored:
            self.publish(
                Warned(f"{one.known.task_id}: its ticket {one.ticket.shown} is wanted again", mild=True)
            )
        for held in found.held:
            self.publish(Warned(f"{source}: {held.ticket.shown} is not begun: {held.reason}"))
        for gone in found.gone:
            self._warn(f"{gone.known.task_id}: cancelled: {gone.reason}")
        for unready in found.unready[:SHOWN]:
            self._warn(f"{source}: {unready.ticket.shown} is not begun: {unready.reason}")
        if len(found.unready) > SHOWN:
            more = f"{plural(len(found.unready) - SHOWN, 'more ticket')} not begun"
            self._warn(f"{source}: {more}; `ralph task check {source}` names them all")

    async def _ask(self, source: Source, found: Intake) -> Sequence[RalphError]:
        problems: list[RalphError] = []
        for unready in found.unready if self.asks and source.is_shared else ():
            ticket = unready.ticket
            if not unready.is_askable or self._asked.get(ticket.key) == unready.reason:
                continue
            try:
                await source.say(ticket.key, asked_for(unready.reason))
            except ServiceAway as away:
                return [*problems, away]
            except RalphError as refused:  # it will not be otherwise next time
                problems.append(refused)
            self._asked[ticket.key] = unready.reason
        return problems

    def _trouble(self, problem: RalphError) -> None:
        """Once, until a look finds none."""
        if problem.message not in self._troubles:
            self._troubles.add(problem.message)
            self.publish(Warned(f"{problem.message}; the work goes on, and this is tried again"))

    def _warn(self, text: str, *, mild: bool = False) -> None:
        if text not in self._said:
            self._said.add(text)
            self.publish(Warned(text, mild=mild))
