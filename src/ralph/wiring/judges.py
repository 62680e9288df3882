"""Who judges what others claim: fresh sessions of the agent that the settings choose for it, which change nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from ralph.engine.ports import Agent
from ralph.engine.tasks.ports import Judges
from ralph.wiring.kit import Kit
from ralph.wiring.proof import proof_store
from ralph.wiring.roles import judge_of

if TYPE_CHECKING:
    from ralph.adapters.workspace.kept_tree import KeptTree
    from ralph.adapters.workspace.proof_store import GitProofStore


def judges_of(kit: Kit) -> Judges:
    def judge(model: str, tags: Sequence[str], *, turn: int = 0) -> Agent:
        chosen = judge_of(kit.launch.settings, kit.workspace, model=model)
        return kit.agent(tags=tags, chosen=chosen.beginning_with(turn))

    return judge


def tree_keeper(kit: Kit, *, base: str) -> Callable[[], Awaitable[KeptTree]]:
    """Keeps the working tree while a judge looks at it. ``base``: the commit that the work began with."""
    opened: GitProofStore | None = None

    async def keep() -> KeptTree:
        from ralph.adapters.workspace.kept_tree import KeptTree

        nonlocal opened
        if opened is None:
            opened = proof_store(kit)
            await opened.open(base=base)
        return await KeptTree.of(opened)

    return keep
