"""Work that an agent had left running beside its turns, and that ended with its session."""

from __future__ import annotations

from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import AgentReport

_MOST = 5


def cut_off_warning(report: AgentReport) -> str:
    """For the user; empty if nothing was cut off."""
    return f"background work was cut off when the session ended: {_listed(report)}" if report.cut_off else ""


def cut_off_remark(report: AgentReport) -> Feedback | None:
    """For the next session, which must not count on it."""
    if not report.cut_off:
        return None
    return Feedback(
        "When the previous session ended, work that it had started in the background was still running and was cut"
        f" off: {_listed(report)}. Its results may be missing. Wait for such work before you end your turn."
    )


def _listed(report: AgentReport) -> str:
    more = len(report.cut_off) - _MOST
    return ", ".join(report.cut_off[:_MOST]) + (f" and {more} more" if more > 0 else "")
