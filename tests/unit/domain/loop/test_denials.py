"""A session that was permitted nothing is said to be one."""

from __future__ import annotations

import pytest

from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.stalls import denials_remark, denials_warning, was_denied_everything

DENIED = AgentReport(denials=("Bash",), tools=1, tool_errors=1)


@pytest.mark.parametrize(
    ("report", "claimed", "changed", "useless"),
    [
        (DENIED, False, False, True),
        (DENIED, True, False, False),
        (DENIED, False, True, False),
        (AgentReport(denials=("Bash",), tools=3, tool_errors=1), False, False, False),
        (AgentReport(denials=("Bash",)), False, False, True),
        (AgentReport(tools=2, tool_errors=2), False, False, False),
    ],
    ids=["denied", "claimed", "changed", "another tool worked", "uncounted", "failed, not denied"],
)
def test_denials_make_a_session_useless_if_nothing_else_came_of_it(
    report: AgentReport, claimed: bool, changed: bool, useless: bool
) -> None:
    assert was_denied_everything(report, claimed=claimed, changed=changed) is useless


def test_the_user_and_the_next_session_are_told_which_tools() -> None:
    report = AgentReport(denials=("Bash", "Write", "Bash"), tools=3, tool_errors=3)

    assert "claude could do nothing" in denials_warning(report, agent="claude")
    assert "agent.flags" in denials_warning(report, agent="claude")
    for text in (denials_warning(report, agent="claude"), denials_remark(report).text):
        assert "Bash (2 times), Write" in text
