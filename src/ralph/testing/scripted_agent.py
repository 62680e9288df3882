"""An agent that plays a script, one step per launch, inside this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from ralph.domain.agent.events import Text
from ralph.domain.agent.transcript import Transcript
from ralph.domain.loop.events import AgentActed
from ralph.domain.loop.session_report import AgentReport, Fault, Spend
from ralph.engine.ports import AgentRequest, Publish
from ralph.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Turn:
    """What the agent says, and what it does to the world."""

    text: str = ""
    does: Callable[[AgentRequest], None] = lambda request: None
    exit_code: int = 0
    fault: Fault | None = None
    spend: Spend = Spend()


@dataclass(slots=True)
class ScriptedAgent:
    """Plays ``turns`` in order, the last one again and again. ``prompts`` are those it was given."""

    turns: Iterable[Turn]
    tags: tuple[str, ...] = ("response", "promise", "reject")
    name: str = "scripted"
    prompts: list[str] = field(default_factory=list)
    _played: int = 0

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        script = list(self.turns)
        turn = script[min(self._played, len(script) - 1)]
        self._played += 1
        self.prompts.append(request.prompt)
        turn.does(request)
        transcript = Transcript(self.tags)
        if turn.text:
            said = Text(turn.text)
            transcript.take([said])
            publish(AgentActed((said,)))
        return AgentReport(
            exit_code=turn.exit_code,
            text=transcript.text,
            tags=transcript.tags,
            fault=turn.fault,
            spend=turn.spend,
        )
