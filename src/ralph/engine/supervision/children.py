"""The runs that a root agent starts: what they write is judged with its own work, so they end before that is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Protocol

from ralph.domain.loop.claims import Signal
from ralph.domain.loop.events import PauseBegan, Warned
from ralph.domain.loop.session_report import AgentReport, Ending
from ralph.domain.supervision.rules import Supervision, shown_children, span
from ralph.engine.deadline import TimeOver, no_deadline
from ralph.engine.ports import Agent, AgentRequest, Clock, Control, Judging, Probe, Publish
from ralph.values import dataclass, replace

LOOK_EVERY = 1.0
"""Seconds: so soon it is noticed that there is no more time, or that DONE was taken back."""


class Children(Protocol):
    def active(self) -> Sequence[str]:
        """Those that still run, each named."""
        ...

    def failures(self) -> Sequence[str]:
        """Of those that were active before: how each ended that did not complete."""
        ...

    def stop(self) -> None:
        """Ask them to end at once."""
        ...


@dataclass(frozen=True, slots=True)
class CutWait:
    """The wait ended before the children did: STOPPED by the user, or LIMITED by a limit that ``reason`` names."""

    ending: Ending
    reason: str
    active: Sequence[str]


class Family:
    """Waits for the children once DONE is there, as long as the limits allow, and tells what became of them."""

    def __init__(
        self,
        children: Children,
        supervision: Supervision,
        *,
        is_done: Callable[[], bool],
        clock: Clock,
        control: Control,
        publish: Publish,
        time_over: TimeOver = no_deadline,
        time_left: Callable[[], float] = lambda: inf,
    ) -> None:
        self._children = children
        self._supervision = supervision
        self._is_done = is_done
        self._clock = clock
        self._control = control
        self._publish = publish
        self._time_over = time_over
        self._time_left = time_left

    async def wait(self) -> CutWait | None:
        """None: no child is active any more, or DONE was taken back."""
        if not (active := self._children.active()):
            return None
        patience = self._supervision.wait_timeout
        until = self._clock.monotonic() + patience
        number = f"{len(active)} active child run{'' if len(active) == 1 else 's'}"
        longest = max(0.0, min(patience, self._time_left()))
        waits_for = f"DONE is there; waiting for {number}"
        self._publish(PauseBegan(waits_for, self._clock.now() + longest, "children"))
        while self._is_done():
            if (limit := self._time_over()) is not None:
                self._tell(f"the time is over; child runs are told to end: {shown_children(active)}")
                self._children.stop()
                return CutWait(Ending.LIMITED, limit, active)
            if self._control.stopping:
                self._tell(f"child runs still running: {shown_children(active)}")
                if self._control.stopping_now:
                    self._children.stop()
                return CutWait(Ending.STOPPED, "", active)
            left = until - self._clock.monotonic()
            if left <= 0:
                still = f"child runs still running after {span(patience)}: {shown_children(active)}"
                return CutWait(Ending.LIMITED, still, active)
            await self._sleep(min(left, self._supervision.poll_interval))
            if not (active := self._children.active()):
                break
        for failure in self._children.failures():
            self._tell(failure)
        return None

    def _tell(self, message: str) -> None:
        self._publish(Warned(message))

    async def _sleep(self, seconds: float) -> None:
        """Until the children are asked again; less if something else ends the wait."""
        until = self._clock.monotonic() + seconds
        stop = asyncio.ensure_future(self._control.stop_requested())
        try:
            while (left := until - self._clock.monotonic()) > 0 and not stop.done():
                if self._time_over() is not None or not self._is_done():
                    return
                sleep = asyncio.ensure_future(self._clock.sleep(min(left, LOOK_EVERY)))
                await asyncio.wait({stop, sleep}, return_when=asyncio.FIRST_COMPLETED)
                sleep.cancel()
        finally:
            stop.cancel()


class FamilyAgent:
    """A root agent whose launch, once it says that it is done, lasts until its children have ended too.

    Implements the ``Agent`` port.
    """

    def __init__(self, agent: Agent, family: Family, *, is_done: Callable[[], bool]) -> None:
        self._agent = agent
        self._family = family
        self._is_done = is_done

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        report = await self._agent.run(request, publish, stop=stop)
        if report.ending in (Ending.STOPPED, Ending.LIMITED) or not self._is_done():
            return report
        cut = await self._family.wait()
        return (
            report if cut is None else replace(report, ending=cut.ending, reason=unjudged_reason(cut.reason))
        )


class SettledProbe:
    """DONE that appears after the wait, while a child is active, is no claim yet: the next look waits for the child."""

    def __init__(self, done: Probe, children: Children) -> None:
        self._done = done
        self._children = children

    async def look(self, judging: Judging) -> Sequence[Signal]:
        signals = await self._done.look(judging)
        return () if signals and self._children.active() else signals


def unjudged_reason(why: str) -> str:
    return f"DONE is not judged yet: {why}"
