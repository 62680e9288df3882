"""What each view shows, and how a user moves about with keyboard and mouse."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.domain.agent.events import Text
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    RunPaused,
)
from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.session_report import Spend
from ralph.interfaces.tui.board_view import BoardView
from tests.tui.sample import EARLIER, NOW, RUN, Record
from tests.tui.seen import LARGE, Viewer, picture_of, pieces_of, play, text_of


def test_the_stream_shows_words_tools_lists_checks_and_decisions(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        text = await viewer.sees("● Edit  src/shop/money.py", "▸ Take the exponent", "assert 1.23 == 1.234")
        assert "iteration 3 of 10" in text
        await viewer.press("pageup")
        await viewer.sees(
            "unit tests failed (3.1s, exit 1)",
            "→ not done yet: unit tests failed",
            "⚑ claims done: tag response",
        )
        await viewer.sees("the claim was denied by the checks")

    play(shop.root, story)


def test_what_happens_is_shown_as_it_happens(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("Edit  src/shop/money.py")
        shop.say("Now the dinar is right.")
        await viewer.sees("Now the dinar is right.")
        shop.judge(3, verdict=Verdict.PASSED, cost=0.2, seconds=80)
        shop.end()
        await viewer.sees("✔ completed", "claimed by tag response, 2 checks passed")

    play(shop.root, story)


def test_pieces_of_a_sentence_become_one_line(record: Record) -> None:
    record.begin(1)

    async def story(viewer: Viewer) -> None:
        await viewer.sees("iteration 1 of 10")
        for piece in ("Half a sen", "tence, and", " the rest.\nAnother li"):
            record.write(AgentActed((Text(piece, final=False),)))
            await viewer.sees(piece.splitlines()[-1].strip())
        record.write(AgentActed((Text("ne."),)))
        text = await viewer.sees("Another line.")
        assert "Half a sentence, and the rest." in text

    play(record.root, story)


def test_the_head_shows_how_far_it_is_and_what_was_spent_of_what_may_be(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        text = await viewer.sees("● running", "iteration 3/10", "$0.42 of $5.00", "tokens")
        assert "12m34s" in text.splitlines()[1]
        assert "7m26s Edit src/shop/money.py" in text.splitlines()[2]

    play(shop.root, story)


def test_a_run_that_waits_counts_down(shop: Record) -> None:
    shop.judge(3, verdict=Verdict.FAILED, cost=0.2, seconds=80)
    shop.wait(NOW + 723, "usage limit of claude")

    async def story(viewer: Viewer) -> None:
        await viewer.sees("◔ waiting", "continues in 12m3s: usage limit of claude")

    play(shop.root, story)


def test_the_runs_are_listed_and_one_can_be_chosen(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("1")
        text = await viewer.sees(EARLIER, "● running", "✔ completed", "Fix the tests.")
        assert text.index(RUN) < text.index(EARLIER)
        await viewer.press("down", "enter")
        await viewer.sees("Everything is in place.", "✔ completed")
        await viewer.press("left_square_bracket")
        await viewer.sees("Edit  src/shop/money.py")

    play(shop.root, story)


def test_a_run_says_which_task_it_works_on_and_how_much_its_stage_has_left(record: Record) -> None:
    record.database.execute("UPDATE runs SET options = json_set(options, '$.task', 'T-9')")
    record.write(
        IterationStarted(3, 1, None, "T-9/coder", role="coder", used=2, limit=7, promise="CODED"),
        AgentStarted("claude -p", 4242),
    )

    async def story(viewer: Viewer) -> None:
        await viewer.sees("role coder 2 of 7", "promises CODED")
        await viewer.press("1")
        await viewer.sees(RUN, "T-9")

    play(record.root, story, size=LARGE)


def test_tasks_stand_in_the_lane_of_the_role_whose_turn_it_is(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("2")
        text = await viewer.sees("Coder 3", "Reviewer 1", "Done 1", "↻ 3/7", "waits for")
        row = next(line for line in text.splitlines() if "T-1" in line)
        assert "T-3" in row
        assert "T-5" in row

    play(shop.root, story)


def test_a_task_opens_with_its_criteria_and_its_verifications(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("2")
        await viewer.sees("Coder 3")
        await viewer.press("enter")
        await viewer.sees("What each role must show", "rounds half to even", "promises CODED", "at most 7")
        await viewer.sees("command: make test", "checks: all tests (make test)")
        await viewer.sees("Verification history", "1 failed, 41 passed")
        await viewer.press("escape")
        await viewer.sees("Coder 3")

    play(shop.root, story, size=LARGE)


def test_cards_are_reached_by_arrows_across_and_along_the_lanes(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("2")
        await viewer.sees("Coder 3")
        board = viewer.app.main.query_one(BoardView)
        where = []
        for key in ("down", "down", "right", "right", "left", "left", "up"):
            await viewer.press(key)
            where.append(board.current.id if board.current else "")
        assert where == ["T-2", "T-4", "T-3", "T-5", "T-3", "T-4", "T-2"]

    play(shop.root, story)


def test_stories_are_shown_by_their_review(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("2")
        await viewer.sees("Coder 3")
        await viewer.press("b")
        await viewer.sees("To do 1", "Needs review 1", "Approved 1", "2 reviews")
        await viewer.press("3")
        text = await viewer.sees("↩ changes", "◔ needs review", "✔ approved")
        assert [text.index(f"US-00{number}") for number in range(1, 5)] == sorted(
            text.index(f"US-00{number}") for number in range(1, 5)
        )
        await viewer.press("down", "enter")
        await viewer.sees("The link works twice; it must not.", "works in every browser")

    play(shop.root, story)


def test_iterations_are_listed_with_checks_cost_and_time(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("5")
        text = await viewer.sees("not done yet", "$0.31", "3m32s", "● under way", "denied")
        assert "■■" in text
        assert "cost █" in text
        await viewer.press("home", "enter")
        await viewer.sees(
            "Iteration 1", "denied by the checks", "make test", "Prompt", "Fix the failing tests."
        )

    play(shop.root, story, size=LARGE)


def test_an_iteration_that_was_given_up_is_shown_as_such_and_in_red(shop: Record) -> None:
    shop.write(
        AgentEnded("exited", 0, 1.0, Spend()),
        ClaimsSought(()),
        IterationEnded(3, 1, "giveup", "it cannot be done", False, False, Spend(), 2.0),
    )

    async def story(viewer: Viewer) -> None:
        await viewer.sees("→ given up: it cannot be done")
        await viewer.press("5")
        await viewer.sees("given up", "denied")
        pieces = pieces_of(picture_of(viewer.app))
        colors = {piece.text.strip(): piece.style.split(" font-")[0] for piece in pieces}
        assert colors["given up"] == colors["denied"] != colors["not done yet"]

    play(shop.root, story, size=LARGE)


def test_about_names_permissions_sandbox_and_commands(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("6")
        await viewer.sees(
            "dangerously-skip-permissions", "bwrap:", "make test (guardrail", "10 iterations, $5.00"
        )

    play(shop.root, story)


def test_a_wide_screen_has_a_panel_beside_the_stream(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees(
            "The agent's to-do list", "Checks of iteration 2", "unit tests 0/2", "2 claims denied by checks"
        )
        await viewer.press("2")
        await viewer.misses("The agent's to-do list")

    play(shop.root, story, size=LARGE)


def test_a_terminal_that_is_too_small_says_so_and_recovers(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("This terminal is 40 by 8.", "50 by 12")
        await viewer.pilot.resize_terminal(80, 24)
        await viewer.sees("Edit  src/shop/money.py")

    play(shop.root, story, size=(40, 8))


def test_who_reads_above_is_left_there_until_he_follows_again(record: Record) -> None:
    record.begin(1)
    record.say(*(f"word {number}" for number in range(300)))

    async def story(viewer: Viewer) -> None:
        await viewer.sees("word 299", "following")
        await viewer.press("pageup", "pageup")
        text = await viewer.sees("not following")
        record.say("something new")
        for _ in range(3):
            await viewer.app.look()
        shown = [line for line in text.splitlines() if "word" in line]
        assert all(line in text_of(viewer.app) for line in shown)
        await viewer.press("f")
        await viewer.sees("something new")

    play(record.root, story)


def test_scrolling_up_reads_what_was_before(record: Record) -> None:
    record.begin(1)
    record.say(*(f"word {number}" for number in range(1200)))

    async def story(viewer: Viewer) -> None:
        await viewer.sees("word 1199")
        await viewer.press("home")
        await viewer.until(lambda: "word 799" not in text_of(viewer.app), "the window moved")
        for _ in range(4):
            await viewer.press("home")
            await viewer.settle()
        await viewer.sees("word 0", "iteration 1 of 10")
        await viewer.press("end")
        await viewer.sees("word 1199", "following")

    play(record.root, story)


def test_the_stream_can_be_narrowed_to_words_tools_or_checks(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("● Edit", "It is fixed at two.")
        await viewer.press("v")
        await viewer.misses("● Edit")
        await viewer.sees("It is fixed at two.", "only words")
        await viewer.press("v")
        await viewer.sees("● Edit", "only tools")
        await viewer.misses("It is fixed at two.")

    play(shop.root, story)


def test_the_filter_shows_only_what_contains_a_text(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("It is fixed at two.")
        await viewer.press("slash", *"exponent", "enter")
        await viewer.sees("## The exponent", "filtered by “exponent”")
        await viewer.misses("● Edit")
        await viewer.press("2")
        await viewer.sees("Coder 3")
        await viewer.press("slash", *"mail", "enter")
        await viewer.sees("Coder 1", "Receipts by mail")

    play(shop.root, story)


def test_tabs_rows_and_cards_can_be_clicked(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("Edit")
        await viewer.pilot.click("#tab-board")
        await viewer.sees("Coder 3")
        await viewer.pilot.click("#board", offset=(30, 4))
        await viewer.pilot.click("#board", offset=(30, 4))
        await viewer.sees(
            "Vouchers that expire at midnight of the buyer's time zone", "What each role must show"
        )
        await viewer.press("escape")
        await viewer.pilot.click("#tab-runs")
        await viewer.sees(EARLIER)
        await viewer.pilot.click("#runs", offset=(5, 2))
        await viewer.pilot.click("#runs", offset=(5, 2))
        await viewer.sees("Everything is in place.")

    play(shop.root, story)


def test_the_logs_of_a_run_are_read_at_their_end(shop: Record) -> None:
    folder = shop.folder / "runs" / RUN
    (folder / "guardrail_001_unit-tests.log").write_text("x" * 300_000 + "\n1 failed\n")

    async def story(viewer: Viewer) -> None:
        await viewer.sees("Edit")
        await viewer.press("o")
        await viewer.sees("guardrail_001_unit-tests.log", "request.json")
        await viewer.press("enter")
        await viewer.sees("1 failed")
        await viewer.press("home")
        await viewer.press("escape")
        await viewer.sees("request.json")
        await viewer.press("escape")
        await viewer.sees("Edit  src/shop/money.py")

    play(shop.root, story)


def test_help_lists_the_keys(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.press("question_mark")
        await viewer.sees("Keys", "steer: add a note to the next prompt", "quit; runs keep going")
        await viewer.press("escape")
        await viewer.misses("steer: put a word")

    play(shop.root, story)


@pytest.mark.parametrize("light", [False, True])
def test_the_theme_can_be_changed(shop: Record, light: bool) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("Edit")
        before = viewer.app.theme
        await viewer.press("t")
        assert viewer.app.theme != before
        assert viewer.app.current_theme.dark is light

    play(shop.root, story, light=light)


def test_a_live_run_that_begins_later_is_shown_unless_one_was_chosen(root: Path) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees(
            "no runs here yet", "how to begin", "ralph init", 'ralph run "Fix the failing tests"'
        )
        with Record(root) as first:
            first.begin(1)
            first.say("the first one")
            await viewer.sees("the first one")
            first.end()
            await viewer.sees("✔ completed")
            with Record(root, "20260921-140000-beef", began=NOW - 10) as second:
                second.begin(1)
                second.say("the second one")
                await viewer.sees("the second one")

    play(root, story)


def test_a_paused_run_says_how_it_goes_on(shop: Record) -> None:
    shop.judge(3, verdict=Verdict.FAILED, cost=0.2, seconds=80)
    shop.write(RunPaused())

    async def story(viewer: Viewer) -> None:
        await viewer.sees("→ not done yet")
        await viewer.press("p")
        await viewer.until(lambda: bool(shop.heard()), "the request to pause")
        await viewer.sees("⏸ paused", "Paused: press u to continue")

    play(shop.root, story)


def test_an_empty_project_has_no_blank_view_and_no_cut_hint(root: Path) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("how to begin")
        await viewer.press("6")
        await viewer.sees("no runs here yet: 4 says how to begin")
        await viewer.press("2")
        await viewer.sees("`ralph plan new --name NAME` starts a plan")

    play(root, story)
