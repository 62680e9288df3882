"""Which stages of a verification may run at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ralph.domain.tasks.completion import VerificationMethod

Stage = Mapping[str, Any]


def phases(stages: Sequence[Stage]) -> list[list[int]]:
    """The places of the stages that run at once, one phase after the other. Whatever a command writes while a judge works
    would count as the judge's, so judges come last; stages that have both inside have the place for themselves."""
    together = [place for place, stage in enumerate(stages) if not _asks_judge(stage)]
    judges = [place for place, stage in enumerate(stages) if _is_judge(stage)]
    mixed = [[place] for place in range(len(stages)) if place not in together and place not in judges]
    return [phase for phase in (together, *mixed, judges) if phase]


def _is_judge(stage: Stage) -> bool:
    return stage.get("method") == VerificationMethod.SEMANTIC


def _asks_judge(stage: Stage) -> bool:
    config = stage.get("config")
    inner = config.get("stages") if isinstance(config, Mapping) else None
    return _is_judge(stage) or any(map(_asks_judge, inner or ()))
