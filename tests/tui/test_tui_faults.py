"""Hostile text, huge events, records that are missing, damaged or of another version."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from textual.worker import WorkerFailed

from ralph.adapters.storage.run_removal import remove_run
from ralph.domain.agent.events import Text, TodoChanged, TodoItem, TodoStatus, ToolEnded, ToolStarted
from ralph.domain.loop.events import AgentActed, Warned
from ralph.domain.loop.evidence import Verdict
from ralph.errors import StoreError, UsageError
from ralph.interfaces.tui.app import RalphApp, open_ui
from ralph.interfaces.tui.stream_view import MOST_LINES
from ralph.interfaces.tui.terminal_app import is_light
from tests.tui.sample import EARLIER, NOW, Record, earlier_run
from tests.tui.seen import LARGE, Viewer, picture_of, play, text_of

HOSTILE = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m \u202egnp.exe\u2066 [bold]markup[/bold] \x9b1m\x00 <b>html</b> \ud800"
NEVER = ("\x1b", "\x9b", "\x00", "\u202e", "\u2066", "\x07", "\ud800")


def test_hostile_text_is_harmless_everywhere(record: Record) -> None:
    text = HOSTILE.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    record.begin(1)
    record.write(
        AgentActed(
            (
                Text(text),
                ToolStarted("1", text, text),
                ToolEnded("1", text, text, lines=1, chars=10),
                TodoChanged((TodoItem(text, TodoStatus.ACTIVE),)),
            )
        ),
        Warned(text),
    )

    async def story(viewer: Viewer) -> None:
        await viewer.sees("red", "[bold]markup[/bold]", "<b>html</b>")
        for key in ("1", "5", "6", "4"):
            await viewer.press(key)
            await viewer.settle()
            picture = picture_of(viewer.app)
            assert not [sign for sign in NEVER if sign in picture]

    play(record.root, story, size=(130, 40))


def test_a_single_huge_event_is_cut_and_says_so(record: Record) -> None:
    record.begin(1)
    record.write(
        AgentActed((Text("y" * 3_000_000), ToolStarted("1", "Bash", "z" * 1_000_000))),
        AgentActed((ToolEnded("1", "Bash", "line\n" * 200_000, lines=200_000, chars=1_000_000),)),
        AgentActed(tuple(Text(f"piece {number}") for number in range(5_000))),
    )

    async def story(viewer: Viewer) -> None:
        await viewer.sees("more events of this moment: see the log")
        await viewer.press("slash", *"more line", "enter")
        await viewer.sees("199996 more lines")

    play(record.root, story)


def test_an_event_of_another_version_is_named_and_the_rest_is_shown(record: Record) -> None:
    record.begin(1)
    add = "INSERT INTO events (run_id, iteration, at, kind, data) VALUES (?, 1, ?, ?, ?)"
    for kind, data in (("dreamt", b'{"kind": "dreamt"}'), ("agent_acted", b"\xff{"), ("check_ended", b"[1]")):
        record.database.execute(add, (record.name, NOW, kind, data))
    record.say("still here")

    async def story(viewer: Viewer) -> None:
        await viewer.sees("dreamt: unknown to this version of ralph", "check_ended: unknown", "still here")

    play(record.root, story)


def test_a_run_that_is_removed_while_it_is_watched_is_said_to_be(shop: Record) -> None:
    async def story(viewer: Viewer) -> None:
        await viewer.sees("Everything is in place.")
        remove_run(shop.folder, EARLIER)
        await viewer.sees(
            "this run was removed; what was read so far is still shown", "Everything is in place."
        )
        await viewer.press("1")
        await viewer.sees("● running")
        await viewer.press("enter")
        await viewer.sees("Edit  src/shop/money.py")

    play(shop.root, story, run_id=EARLIER)


def test_a_record_that_is_removed_and_made_anew_is_followed(root: Path) -> None:
    earlier_run(root)

    async def story(viewer: Viewer) -> None:
        await viewer.sees("Everything is in place.")
        for file in (root / ".ralph").glob("ralph.db*"):
            file.unlink()
        await viewer.sees("this run was removed")
        with Record(root) as record:
            record.begin(1)
            record.say("a new beginning")
            await viewer.sees("a new beginning")

    play(root, story)


def test_a_record_of_a_newer_ralph_is_told_before_the_screen_is_taken(
    shop: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with closing(sqlite3.connect(shop.folder / "ralph.db")) as database:
        database.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="newer ralph"):
        open_ui(shop.folder)


def test_a_record_that_becomes_unreadable_is_said_and_read_again_later(shop: Record) -> None:
    aside = shop.root / "aside"

    async def story(viewer: Viewer) -> None:
        def is_said() -> bool:
            return "isdamaged" in "".join(text_of(viewer.app).split())  # wherever the line is broken

        await viewer.sees("● running")
        shop.folder.rename(aside)
        shop.folder.mkdir()
        (shop.folder / "ralph.db").write_bytes(b"not a database at all" * 100)
        await viewer.until(is_said, "the damage")
        (shop.folder / "ralph.db").unlink()
        shop.folder.rmdir()
        aside.rename(shop.folder)
        await viewer.sees("● running")

    play(shop.root, story, size=LARGE)


def test_a_plan_that_cannot_be_read_is_said(shop: Record) -> None:
    (shop.root / "ralph" / "tasks.json").write_text('{"userStories": [')

    async def story(viewer: Viewer) -> None:
        await viewer.press("3")
        await viewer.sees("tasks.json is not JSON")

    play(shop.root, story)


def test_a_bug_of_ours_is_handed_on_and_prints_no_values(
    record: Record, capfd: pytest.CaptureFixture[str]
) -> None:
    app = RalphApp(record.folder)

    async def broken() -> None:
        secret = "hunter2"
        raise LookupError(len(secret))

    async def whole() -> None:
        async with app.run_test() as pilot:
            app.run_worker(broken())
            await pilot.pause()

    with pytest.raises(WorkerFailed):
        asyncio.run(whole())
    assert isinstance(app.failure, LookupError)
    assert "hunter2" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("terminal", ["", "dumb"])
def test_without_a_terminal_it_says_what_to_use_instead(
    shop: Record, monkeypatch: pytest.MonkeyPatch, terminal: str
) -> None:
    if terminal:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", terminal)
    with pytest.raises(UsageError, match="needs a terminal") as raised:
        open_ui(shop.folder)
    assert "ralph logs -f" in raised.value.hint


def test_a_flood_is_followed_at_its_end_in_bounded_memory(record: Record) -> None:
    record.begin(1)
    record.say(*(f"word {number}" for number in range(500)))

    async def story(viewer: Viewer) -> None:
        await viewer.sees("word 499")
        for start in range(0, 30_000, 6_000):
            record.say(*(f"flood {number}" for number in range(start, start + 6_000)))
            await viewer.sees(f"flood {start + 5_999}")
            assert viewer.app.main.stream.virtual_size.height <= MOST_LINES + 2_000
        record.judge(1, verdict=Verdict.PASSED, cost=0.1, seconds=9)
        await viewer.sees("→ accept")
        await viewer.press("home")
        await viewer.until(lambda: "flood 29999" not in text_of(viewer.app), "the top of the window")

    play(record.root, story)


@pytest.mark.parametrize(
    ("value", "light"), [("15;0", False), ("0;15", True), ("0;default;7", True), ("", False), ("x", False)]
)
def test_the_terminal_says_whether_it_is_light(value: str, light: bool) -> None:
    assert is_light({"COLORFGBG": value} if value else dict(os.environ, COLORFGBG="")) is light
