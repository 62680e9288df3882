"""Parallel stages: a judge is asked when nothing else runs any more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from ralph.domain.loop.evidence import Verdict
from ralph.domain.tasks.completion import CompletionCriteria
from ralph.domain.tasks.task import Task
from ralph.engine.tasks.methods import MultiStage
from ralph.engine.tasks.ports import MethodVerdict, Verifying


@dataclass
class Told:
    """Says when it begins and ends; a method that takes its time."""

    name: str
    seen: list[str]

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        self.seen.append(f"{self.name} begins")
        for _ in range(5):
            await asyncio.sleep(0)
        self.seen.append(f"{self.name} ends")
        return MethodVerdict(Verdict.PASSED, self.name)


def test_judges_begin_when_the_commands_have_ended() -> None:
    seen: list[str] = []
    stages = [{"method": "semantic"}, {"method": "external"}, {"method": "external"}]
    verifying = Verifying(
        config={"stages": stages, "parallel": True},
        criteria=CompletionCriteria(),
        task=Task(id="T", title="T"),
        role="coder",
        judging=cast(Any, None),
        tools=cast(Any, None),
    )

    verdict = asyncio.run(MultiStage(lambda name: Told(name, seen)).verify(verifying))

    assert verdict.passed
    both = ["external begins", "external begins", "external ends", "external ends"]
    assert seen == [*both, "semantic begins", "semantic ends"]
