"""Sessions that could do nothing because nothing was permitted: said as such, to the user and to the next session."""

from __future__ import annotations

from collections import Counter

from ralph.domain.feedback import Feedback
from ralph.domain.report import AgentReport


def made_useless(report: AgentReport, *, claimed: bool, changed: bool = False) -> bool:
    """Tools were denied, none did its work, nothing was claimed and nothing is changed.

    ``changed``: the workspace is not as it was before the session, where that is known.
    """
    has_worked = report.tools > report.tool_errors
    return bool(report.denials) and not has_worked and not claimed and not changed


def warning(report: AgentReport, *, agent: str) -> str:
    """For the user, who alone can change it."""
    return (
        f"{agent} could do nothing in this session: not permitted to use {_listed(report)}; "
        f"permit it in agent.flags, or leave the choice of permissions to ralph"
    )


def remark(report: AgentReport) -> Feedback:
    """For the next session, which may find another way."""
    return Feedback(
        f"The previous session could do nothing: it was not permitted to use {_listed(report)}. "
        "Use other tools, or say what you need."
    )


def _listed(report: AgentReport) -> str:
    counts = Counter(report.denials)
    return ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in counts.items())
