"""What differs between the sessions of a run and those that work on its pull request: probes, advice and prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.claims import Signal
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.state import LoopState
from ralph.engine.delivery.work import ROLE
from ralph.engine.parts import as_given
from ralph.engine.ports import Adviser, Agent, AgentRequest, Judging, Probe, PromptStyle, Publish
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class FixAgent:
    """Runs the sessions on a pull request. ``begin`` puts on record that one begins: not before, for a stop or a limit may
    come first, and then whatever is committed is the user's."""

    agent: Agent
    begin: Callable[[], Awaitable[None]]

    @property
    def name(self) -> str:
        return self.agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        await self.begin()
        return await self.agent.run(request, publish, stop=stop)


@dataclass(frozen=True, slots=True)
class ProbeOf:
    """``is_fix``: of sessions on the pull request; else of all others."""

    probe: Probe
    is_fix: bool = False

    async def look(self, judging: Judging) -> Sequence[Signal]:
        wanted = (judging.assignment.role == ROLE) is self.is_fix
        return await self.probe.look(judging) if wanted else ()


@dataclass(frozen=True, slots=True)
class AdviserOf:
    """``is_fix``: of sessions on the pull request; else of all others."""

    adviser: Adviser
    is_fix: bool = False

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        wanted = (assignment.role == ROLE) is self.is_fix
        return await self.adviser.advise(state, assignment) if wanted else ()


@dataclass(frozen=True, slots=True)
class PromptOf:
    """``usual`` words the prompts of the run's own work; what a pull request needs is told as it is."""

    usual: PromptStyle

    def __call__(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str:
        style: PromptStyle = as_given if assignment.role == ROLE else self.usual
        return style(assignment, feedback, iteration=iteration, maximum=maximum)
