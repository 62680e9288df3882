"""Who judges what others claim: fresh sessions of the agent that the settings choose for it."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.engine.ports import Agent
from ralph.engine.tasks.ports import Judges
from ralph.wiring.kit import Kit
from ralph.wiring.roles import judge_of


def judges_of(kit: Kit) -> Judges:
    def judge(model: str, tags: Sequence[str], *, turn: int = 0) -> Agent:
        chosen = judge_of(kit.launch.settings, kit.workspace, model=model)
        return kit.agent(tags=tags, chosen=chosen.beginning_with(turn))

    return judge
