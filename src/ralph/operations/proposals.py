"""What `ralph init` proposes: an agent that is installed, the checks of the project, and what its worktrees need."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ralph.adapters.project_checks import find_checks, find_setup
from ralph.wiring.agents import installed_agents

if TYPE_CHECKING:
    from ralph.config.root import Root
    from ralph.domain.proposals.proposal import Proposal


class Proposals(NamedTuple):
    """``agents``: those that can be started here, the best one first. ``absent``: checks whose programs cannot.

    ``setup``: what prepares a worktree.
    """

    agents: tuple[str, ...]
    guardrails: tuple[Proposal, ...]
    absent: tuple[Proposal, ...]
    setup: tuple[str, ...]


def propose_settings(root: Root, *, environ: Mapping[str, str] = os.environ) -> Proposals:
    from ralph.config.loading import Sources

    checks = find_checks(root.workspace, environ)
    own = Sources.read(root.state, environ).own.values.get("agent")
    chosen = own.get("command") if isinstance(own, Mapping) else None
    installed = installed_agents(environ, (root.workspace, root.state))
    agents = (chosen, *installed) if isinstance(chosen, str) and chosen else installed
    setup = find_setup(root.workspace, environ)
    return Proposals(tuple(dict.fromkeys(agents)), checks.usable, checks.absent, setup)
