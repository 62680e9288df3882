"""What can be asked of a run while it is under way."""

from __future__ import annotations

from enum import StrEnum


class Ask(StrEnum):
    STOP = "stop"
    STOP_NOW = "stop_now"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    STEER = "steer"
