"""What a user can ask of a run under way. By itself, because `ralph status` does without the rules of the loop."""

from __future__ import annotations

from enum import StrEnum


class Ask(StrEnum):
    STOP = "stop"
    STOP_NOW = "stop_now"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    STEER = "steer"
