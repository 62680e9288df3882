"""How an iteration of a plan was judged, in the plan's own memory: the run's record hears of it a moment later.

Whoever is killed in that moment has judged, and the story has moved: the run's next process counts the iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ralph.domain.agent.events import Usage
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.session_report import AgentReport, Spend
from ralph.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Settlement:
    """``spend``: of the session and of what was asked to judge it."""

    iteration: int
    results: tuple[CheckResult, ...]
    spend: Spend = Spend()

    @property
    def evidence(self) -> Evidence:
        return Evidence(AgentReport(spend=self.spend), results=self.results)

    def concluded(self, result: CheckResult) -> Settlement:
        """With the result of a further check."""
        return replace(self, results=(*self.results, result), spend=self.spend + result.spend)

    def to_data(self) -> Mapping[str, object]:
        results = [
            {
                "name": result.name,
                "verdict": result.verdict,
                "required": result.required,
                "reason": result.reason,
                "concern": result.concern,
                "contains": result.contains,
            }
            for result in self.results
        ]
        return {"iteration": self.iteration, "results": results, "spend": asdict(self.spend)}


def settlement_from(data: Any) -> Settlement | None:
    """None if there is none, or if another version of ralph wrote it: all that it decides is what counts."""
    try:
        results = [CheckResult(**{**each, "verdict": Verdict(each["verdict"])}) for each in data["results"]]
        spend = Spend(**{**data["spend"], "usage": Usage(**data["spend"]["usage"])})
        return Settlement(int(data["iteration"]), tuple(results), spend)
    except (ValueError, KeyError, TypeError):
        return None
