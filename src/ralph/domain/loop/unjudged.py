"""A session that is over and could not be judged: only the judging is repeated, by this process or a later one."""

from __future__ import annotations

from ralph.domain.loop.claims import Tag
from ralph.domain.loop.session_report import AgentReport, Ending
from ralph.values import dataclass

TAGS_KEPT = 50
"""The last ones: the state of a run stays small, whatever an agent prints."""


@dataclass(frozen=True, slots=True)
class UnjudgedSession:
    """What judging needs of a report. What the session cost has been counted."""

    ending: Ending
    exit_code: int | None
    is_orderly: bool
    text: str
    tags: tuple[Tag, ...]
    tools: int = 0
    tool_errors: int = 0
    denials: tuple[str, ...] = ()
    cut_off: tuple[str, ...] = ()
    reason: str = ""

    @classmethod
    def of(cls, report: AgentReport) -> UnjudgedSession:
        return cls(
            report.ending,
            report.exit_code,
            report.is_orderly,
            report.text,
            report.tags[-TAGS_KEPT:],
            report.tools,
            report.tool_errors,
            report.denials,
            report.cut_off,
            report.reason,
        )

    @property
    def report(self) -> AgentReport:
        return AgentReport(
            self.ending,
            self.exit_code,
            self.is_orderly,
            self.text,
            self.tags,
            tools=self.tools,
            tool_errors=self.tool_errors,
            denials=self.denials,
            cut_off=self.cut_off,
            reason=self.reason,
        )
