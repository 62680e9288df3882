"""How a pull request looks on a screen. Plain words only: every run loads this with the events."""

from __future__ import annotations

from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class SeenCheck:
    """``standing``: a word of ``domain/delivery/standing``."""

    name: str
    standing: str
    url: str = ""
    is_flaky: bool = False
    is_required: bool = True
