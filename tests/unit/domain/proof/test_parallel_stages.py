"""Which stages may run at the same time: no command while a judge works."""

from __future__ import annotations

from typing import Any

import pytest

from ralph.domain.proof.parallel_stages import phases

COMMAND: dict[str, Any] = {"method": "external", "config": {"command": "make"}}
JUDGE: dict[str, Any] = {"method": "semantic"}


def several(*stages: dict[str, Any]) -> dict[str, Any]:
    return {"method": "multi_stage", "config": {"stages": list(stages)}}


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ([], []),
        ([{}, COMMAND, {"method": "own:Check"}], [[0, 1, 2]]),
        ([JUDGE, COMMAND, JUDGE, COMMAND], [[1, 3], [0, 2]]),
        ([several(COMMAND, COMMAND), COMMAND], [[0, 1]]),
        ([several(COMMAND, JUDGE), JUDGE, several(several(JUDGE)), COMMAND], [[3], [0], [2], [1]]),
    ],
)
def test_judges_come_last(stages: list[dict[str, Any]], expected: list[list[int]]) -> None:
    assert phases(stages) == expected
