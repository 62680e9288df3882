"""What the head of a run says about an agent that is to start without what is its user's."""

from __future__ import annotations

from ralph.domain.agent.facts import Clean
from ralph.domain.agent.options import Isolation, SessionOptions


def isolation_notes(name: str, clean: Clean | None, options: SessionOptions) -> tuple[str, ...]:
    if options.isolation is not Isolation.CLEAN:
        return ()
    if clean is None:
        return (f"{name} cannot start clean: it has your MCP servers, plugins and memory files",)
    kept = f"; it still has {clean.keeps}" if clean.keeps else ""
    return (f"{name} starts clean, without {clean.drops}{kept}",)
