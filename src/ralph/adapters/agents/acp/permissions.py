"""The answer to an agent that asks for permission: a policy, since nobody is there to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ralph.adapters.agents.acp.messages import PermissionOption
from ralph.domain.agent.options import Permissions

_HARMLESS: Final = frozenset(("read", "search", "think"))

# Once before always: what is allowed for good, some agents write into their user's own settings.
_ALLOW: Final = ("allow_once", "allow_always")
_REJECT: Final = ("reject_once", "reject_always")


def is_allowed(policy: Permissions, kind: str) -> bool:
    """``kind``: of the tool, as the agent says; one that it does not name may do anything."""
    match policy:
        case Permissions.ALLOW:
            return True
        case Permissions.READS:
            return kind in _HARMLESS
        case Permissions.NONE:
            return False


def choose_option(options: Sequence[PermissionOption], *, allow: bool) -> str | None:
    """The id of the option to choose; None if none of them says that."""
    for wanted in _ALLOW if allow else _REJECT:
        for option in options:
            if option.kind == wanted:
                return option.option_id
    return None
