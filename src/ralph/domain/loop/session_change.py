"""What one session made of the working tree: how many files, and of the first few what is in them."""

from __future__ import annotations

from dataclasses import dataclass

MOST_NAMED = 4
"""Files of which more is known than that they were changed."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """``before`` and ``after`` tell one content from another; zeros: it is not there; empty: not known."""

    path: str
    before: str = ""
    after: str = ""
    back_before: int = 0  # the iteration before which it was as it is now; 0: none that is known


@dataclass(frozen=True, slots=True)
class SessionChange:
    files: int = 0
    named: tuple[ChangedFile, ...] = ()
