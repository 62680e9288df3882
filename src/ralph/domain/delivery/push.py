"""May a commit be pushed over what the remote has? Only over what ralph pushed itself, or where nothing of anybody's is lost."""

from __future__ import annotations

from enum import StrEnum

from ralph.domain.delivery.memory import Delivered
from ralph.values import dataclass


class Push(StrEnum):
    THERE = "there"  #: the remote has this very commit
    ALLOWED = "allowed"
    DELETED = "deleted"  #: someone took the branch away
    RESET = "reset"  #: someone took it back to an earlier commit
    THEIRS = "theirs"  #: it has what someone else pushed, and would lose it


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBranch:
    """``tip`` empty: it is not there. ``is_contained``: the branch here has that commit. ``is_earlier``: it is one that ralph
    pushed over, or lies before one that it pushed."""

    tip: str
    is_contained: bool
    is_earlier: bool


def judge_push(delivered: Delivered, commit: str, remote: RemoteBranch) -> Push:
    if remote.tip == commit:
        return Push.THERE
    if not remote.tip:
        return Push.DELETED if delivered.pushed else Push.ALLOWED
    is_ours = remote.tip in (delivered.pushed, delivered.pushing) and remote.tip != delivered.given
    if is_ours:
        return Push.ALLOWED
    if delivered.pushed not in ("", remote.tip) and remote.is_earlier:
        return Push.RESET
    return Push.ALLOWED if remote.is_contained else Push.THEIRS
