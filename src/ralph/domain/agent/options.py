"""What the user may ask of every session. Not every program supports it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ralph.values import dataclass


class Option(StrEnum):
    """Named like the settings below ``agent``; READ_ONLY is what ralph asks of judging sessions."""

    MODEL = "model"
    MAX_TURNS = "maxTurns"
    CONTINUE_SESSION = "continueSession"
    READ_ONLY = "readOnly"


ALL_OPTIONS: Final = frozenset(Option)


class Isolation(StrEnum):
    """What of its user's own an agent gets to see."""

    USUAL = "usual"  #: whatever its configuration names
    CLEAN = "clean"  #: no MCP servers, plugins and memory files of the user's, as far as its program can


class Permissions(StrEnum):
    """What an agent that asks ralph for permission is allowed (ACP)."""

    ALLOW = "allow"  #: whatever it asks for
    READS = "reads"  #: to read, search and think
    NONE = "none"  #: nothing


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Empty, None and False leave it to the agent. What ``isolation`` a program cannot keep is said, not refused.

    ``permissions`` matter to agents that ask ralph for them.
    """

    model: str = ""
    max_turns: int | None = None
    continue_session: bool = False
    isolation: Isolation = Isolation.USUAL
    permissions: Permissions = Permissions.ALLOW

    @property
    def wanted(self) -> tuple[Option, ...]:
        given = {
            Option.MODEL: bool(self.model),
            Option.MAX_TURNS: self.max_turns is not None,
            Option.CONTINUE_SESSION: self.continue_session,
        }
        return tuple(option for option, is_given in given.items() if is_given)


NO_OPTIONS: Final = SessionOptions()
