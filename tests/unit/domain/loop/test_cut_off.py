"""What is said about work in the background that ended with its session."""

from __future__ import annotations

from ralph.domain.loop.cut_off import cut_off_remark, cut_off_warning
from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.unjudged import UnjudgedSession


def test_user_and_next_session_are_told_what_was_cut_off() -> None:
    report = AgentReport(cut_off=("build", "serve"))
    remark = cut_off_remark(report)

    assert remark is not None
    assert "build, serve" in remark.text
    assert cut_off_warning(report).endswith(": build, serve")


def test_many_are_counted_and_none_are_not_mentioned() -> None:
    assert cut_off_warning(AgentReport(cut_off=tuple("abcdefg"))).endswith("a, b, c, d, e and 2 more")
    assert cut_off_warning(AgentReport()) == ""
    assert cut_off_remark(AgentReport()) is None


def test_a_session_that_is_judged_later_still_says_it() -> None:
    assert UnjudgedSession.of(AgentReport(cut_off=("build",))).report.cut_off == ("build",)
