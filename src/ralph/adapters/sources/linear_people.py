"""Who belongs to a workspace of Linear: only the words of its members reach an agent."""

from __future__ import annotations

from ralph.adapters.online.shape import Shape

_MEMBER = {"active": True, "guest": False, "app": False}


def trusts(user: Shape, *, is_foreign: bool = False) -> bool | None:
    """Whether it is a person who belongs to the workspace. None: Linear does not say; half of an answer is no statement.

    ``is_foreign``: an integration wrote it, or someone through one.
    """
    flags = {name: user[name].flag for name in _MEMBER}
    if is_foreign or any(flags[name] is (not wanted) for name, wanted in _MEMBER.items()):
        return False
    return True if user["id"].text and flags == _MEMBER else None


def is_member(user: Shape) -> bool:
    """For certain."""
    return trusts(user) is True


def is_foreign(said: Shape, outsider: str) -> bool:
    """Linear may name a member beside an integration. ``outsider``: where it names people of other services."""
    return said["botActor"].is_object or said[outsider].is_object


def spell_kind(user: Shape) -> str:
    """What someone is who is no member."""
    if user["app"].flag is True:
        return "an app"
    if user["guest"].flag is True:
        return "a guest"
    return "someone who is not active any more" if user["active"].flag is False else "someone unknown"
