"""What to say about changes of the proof that a run finds when it is resumed."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 5


def tell_taken(paths: Sequence[str]) -> str:
    """They are the user's, who must hear of it in case they are not; empty: nothing to tell."""
    if not paths:
        return ""
    return f"{_names(paths)} changed since the run stopped: taken as your edit, which the work is compared with from now on"


def tell_as_found(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    return f"{_names(paths)} taken as found: the work is compared with that from now on"


def tell_taken_before(paths: Sequence[str]) -> str:
    """With the result; empty: nothing to tell."""
    return (
        f"{_names(paths)} changed while the run was stopped, and the work was compared with that"
        if paths
        else ""
    )


def tell_unknown(paths: Sequence[str]) -> str:
    """Nobody can tell who changed them."""
    if not paths:
        return ""
    return (
        "the run was cut off, or another has worked here since, so ralph cannot tell whether a session or you changed "
        f"{_names(paths)}: the work is compared with what was there before. If you did, stop this run and continue it with `ralph resume --as-found`, "
        "which takes everything as it is now"
    )


def _names(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:SHOWN])
    return f"{shown} and {len(paths) - SHOWN} more" if len(paths) > SHOWN else shown
