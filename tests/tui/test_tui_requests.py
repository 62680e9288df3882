"""Keys that ask something of a run or a task: what they record, and what the screen says when it makes no sense."""

from __future__ import annotations

import pytest

from ralph.domain.loop.asks import Ask
from ralph.domain.views.board import CardKind
from ralph.operations.watch import open_feed
from tests.tui.sample import EARLIER, Record
from tests.tui.seen import Viewer, play


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (["p"], Ask.PAUSE),
        (["u"], Ask.UNPAUSE),
        (["x", "enter"], Ask.STOP),
        (["x", "right", "enter"], Ask.STOP_NOW),
    ],
)
def test_a_run_is_asked_by_a_key(shop: Record, keys: list[str], asked: Ask) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("● running")
        await viewer.press(*keys)
        assert await viewer.gets(shop.heard) == [asked]

    play(shop.root, story)


def test_stopping_can_be_thought_better_of(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("● running")
        await viewer.press("x")
        await viewer.sees("Stop run")
        await viewer.press("escape")
        await viewer.misses("Stop run")
        await viewer.press("x", "left", "enter")
        await viewer.misses("Stop run")
        assert shop.heard() == []

    play(shop.root, story)


def test_what_is_said_to_the_agent_is_put_down_for_the_next_prompt(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("● running")
        await viewer.press("s")
        await viewer.sees("Add a note for the agent")
        await viewer.press(*"use q", "enter", *"not [b]", "ctrl+s")
        assert await viewer.gets(shop.steering) == ["use q\nnot [b]"]
        await viewer.hears("added to the next prompt")

    play(shop.root, story)


def test_nothing_said_is_nothing_asked(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("● running")
        await viewer.press("s", "space", "ctrl+s")
        await viewer.misses("Add a note for the agent")
        assert shop.steering() == []

    play(shop.root, story)


def test_every_answer_fits_into_a_narrow_terminal(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("● running")
        await viewer.press("x")
        await viewer.sees(" After this step ", " Now ", " No ")

    play(shop.root, story, size=(50, 16))


def test_a_run_that_is_over_cannot_be_stopped_and_nothing_is_asked(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("✔ completed")
        await viewer.press("x")
        await viewer.hears(f"run {EARLIER} is not under way (completed)")
        await viewer.misses("Stop run")

    play(shop.root, story, run_id=EARLIER)


def test_a_run_that_is_over_cannot_be_paused_and_says_so(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        shown = await viewer.sees("✔ completed", f"to look: ralph report {EARLIER} --open")
        assert not any(key in shown for key in ("Steer", "Pause", "Stop"))
        await viewer.press("p")
        await viewer.hears(f"run {EARLIER} is not under way")

    play(shop.root, story, run_id=EARLIER)


def test_a_task_is_cancelled_after_a_question_and_tried_again(shop: Record) -> None:
    def lane_of(name: str) -> str:
        with open_feed(shop.folder) as feed:
            detail = feed.card(CardKind.TASK, name)
        return detail.card.lane if detail is not None else ""

    async def story(viewer: Viewer) -> None:
        await viewer.press("2")
        await viewer.sees("Coder 3")
        await viewer.press("down", "c")
        await viewer.sees("Cancel task T-2: Receipts by mail?")
        await viewer.press("enter")
        await viewer.until(lambda: lane_of("T-2") == "cancelled", "T-2 is cancelled")
        await viewer.sees("Cancelled 2")
        await viewer.press("r")
        await viewer.until(lambda: lane_of("T-2") == "coder", "T-2 is open again")

    play(shop.root, story)


def test_a_story_is_changed_in_the_plan_only(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("3")
        await viewer.sees("US-001")
        await viewer.press("c")
        await viewer.hears("stories are changed in the plan, not here")

    play(shop.root, story)


def test_without_a_run_or_a_card_keys_say_what_is_missing(record: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("● running")
        await viewer.press("c")
        await viewer.hears("select a task on the board first")

    play(record.root, story)
