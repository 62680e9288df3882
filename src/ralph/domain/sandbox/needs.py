"""What an agent needs of the world outside its sandbox: its own files, variables and hosts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class AgentNeeds:
    """Paths are relative to the home folder.

    ``state`` is shared with the user's own sessions, so that a renewed login is not lost; ``protected`` lies in it
    and holds what those sessions would *run*: settings with hooks, plugins. ``copied`` files are private to each
    process: the agent may change them, and the changes are dropped afterwards.
    """

    state: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def needs_of_all(agents: Iterable[AgentNeeds]) -> AgentNeeds:
    together = tuple(agents)
    return AgentNeeds(
        *(
            tuple(dict.fromkeys(entry for needs in together for entry in getattr(needs, field.name)))
            for field in fields(AgentNeeds)
        )
    )
