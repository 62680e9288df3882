"""The pull request of a run in the terminal UI: beside the stream, in it, and in the About view."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.loop.events import PullRequestSeen
from ralph.domain.loop.evidence import Verdict
from tests.tui.sample import Record
from tests.tui.seen import LARGE, SMALL, Viewer, play, text_of

URL = "https://github.com/o/r/pull/12"
SEEN = PullRequestSeen(
    12, URL, "Sort by [b]date[/b]", "sort", "main", "9f3e77c0ab12" + 28 * "0", "open", "wait", "waits for build, lint",
    checks=(
        SeenCheck("build", "pending"), SeenCheck("docs", "fails on the base too"), SeenCheck("lint", "pending"),
        SeenCheck("unit", "passed"),
    ),
    strangers=2,
)  # fmt: skip


def accepted(record: Record) -> None:
    record.begin(1)
    record.judge(1, verdict=Verdict.PASSED, cost=0.2, seconds=80)


def test_the_panel_shows_it_live(record: Record) -> None:
    accepted(record)

    async def story(viewer: Viewer) -> None:
        await viewer.sees("→ accepted")
        assert "Pull request" not in text_of(viewer.app)
        record.write(SEEN)
        text = await viewer.sees(
            "Pull request #12 · open",
            URL,
            "! docs  fails on the base too",
            "◔ build pending",
            "✔ unit  passed",
        )
        assert "Sort by [b]date[/b]" in text, "a title is no markup"
        assert "◔ #12 waits for build, lint · 1 of 4 checks passed" in text.splitlines()[2], (
            "the head says what it waits for"
        )
        assert "no agent gets them" in text
        record.write(
            replace(SEEN, reason="waits for lint", checks=(SeenCheck("build", "failed"), *SEEN.checks[1:]))
        )
        await viewer.sees("✘ build failed", "✘ #12 failed: build", "waits for lint")
        record.write(replace(SEEN, state="merged", step="done", reason="merged by ann", checks=()))
        await viewer.sees("Pull request #12 · merged", "✔ merged by ann")

    play(record.root, story, size=LARGE)


def test_a_small_terminal_has_it_in_the_about_view(record: Record) -> None:
    accepted(record)
    record.write(SEEN)

    async def story(viewer: Viewer) -> None:
        await viewer.press("6")
        await viewer.sees("Pull request #12 · open", URL, "sort into main · 9f3e77c0ab12", "◔ lint  pending")

    play(record.root, story, size=SMALL)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_hostile_names_do_not_reach_the_terminal(record: Record, size: tuple[int, int]) -> None:
    accepted(record)
    bad = "\x1b]0;x\x07\u202eevil\x9b2J[bold]\n"
    record.write(
        replace(
            SEEN, url=bad, title=bad, branch=bad, reason=bad, hint=bad, checks=(SeenCheck(bad * 40, bad),)
        )
    )

    async def story(viewer: Viewer) -> None:
        await viewer.press("6")
        text = await viewer.sees("Pull request #12", "evil")
        assert not any(sign in text for sign in ("\x1b", "\x07", "\u202e", "\x9b"))

    play(record.root, story, size=size)


def test_hundreds_of_checks_leave_room_for_the_rest(record: Record) -> None:
    accepted(record)
    checks = tuple(SeenCheck(f"check {number:03}", "passed") for number in range(500))
    record.write(replace(SEEN, checks=(*checks, SeenCheck("last", "failed"))))

    async def story(viewer: Viewer) -> None:
        text = await viewer.sees("✘ last", "more")
        assert "check 400" not in text

    play(record.root, story, size=LARGE)
