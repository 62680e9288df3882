"""`ralph ui` as a process: in a real terminal, and where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from ralph.domain.loop.asks import Ask
from ralph.interfaces.tui.dialogs import HELP
from tests.tui.sample import RUN, Record
from tests.tui.terminal import DEADLINE, terminal


def test_a_real_terminal_shows_a_run_takes_keys_and_is_left_as_it_was(shop: Record) -> None:
    with terminal(shop.root) as tmux:
        tmux.sees("● running", "Edit  src/shop/money.py")
        shop.say("a word from elsewhere")
        tmux.sees("a word from elsewhere")
        tmux.press("2")
        tmux.sees("Coder 3", "Receipts by mail")
        tmux.press("Right", "Enter")
        tmux.sees("Vouchers that expire at midnight", "What each role must show")
        tmux.press("Escape")  # alone: with another key right after it, it would mean Alt
        tmux.sees("Coder 3", "Receipts by mail")
        tmux.press("5")
        tmux.sees("unit tests failed", "$0.31")
        tmux.press("?")
        tmux.sees("quit; runs keep going")
        tmux.press("Escape")
        tmux.sees("$0.31")
        tmux.press("q")
        screen = tmux.sees("ended with 0")
        assert "Iterations" not in screen  # the screen is given back
    assert shop.heard() == []  # quitting asks nothing of the run


def test_a_run_is_steered_and_stopped_from_a_real_terminal(shop: Record) -> None:
    with terminal(shop.root, "last") as tmux:
        tmux.sees("● running")
        tmux.press("s")
        tmux.sees("Add a note for the agent")
        tmux.press("Use", "Space", "Decimal")
        tmux.sees("Use Decimal")
        tmux.press("C-s")
        tmux.sees("added to the next prompt")
        tmux.press("x")
        tmux.sees("Stop run")
        tmux.press("Enter")
        tmux.sees("stops after this step")
    assert shop.steering() == ["Use Decimal"]
    assert shop.heard() == [Ask.STOP]


def test_a_terminal_may_be_made_tiny_and_large_again(shop: Record) -> None:
    with terminal(shop.root, width=80, height=24) as tmux:
        tmux.sees("● running")
        tmux.resize(30, 6)
        tmux.sees("30 by 6")
        tmux.resize(140, 40)
        tmux.sees("The agent's to-do list", "Edit  src/shop/money.py")


def test_it_ends_with_its_terminal_without_being_told(shop: Record) -> None:
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    environment = {**os.environ, "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "ralph", "ui", "--project-dir", str(shop.root)]
    # A terminal that is not its own: the system sends no signal.
    with subprocess.Popen(command, **ends, env=environment, start_new_session=True) as program:  # type: ignore[call-overload]
        try:
            os.close(theirs)
            shown = b""
            while b"running" not in shown:
                shown += os.read(ours, 65536)
            os.close(ours)
            assert program.wait(timeout=DEADLINE) == 0
        finally:
            program.kill()


def test_whoever_ends_it_gets_the_terminal_back(shop: Record) -> None:
    with terminal(shop.root) as tmux:
        tmux.sees("● running")
        (program,) = tmux.programs()
        program.terminate()
        assert "Iterations" not in tmux.sees("ended with 0")


def test_ctrl_c_quits(shop: Record) -> None:
    with terminal(shop.root) as tmux:
        tmux.sees("● running")
        tmux.press("C-c")
        tmux.sees("ended with 0")


def ui(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ralph", "ui", "--project-dir", str(root), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_in_a_pipe_it_says_what_to_use_instead(shop: Record) -> None:
    ran = ui(shop.root)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "needs a terminal" in ran.stderr
    assert "ralph logs -f" in ran.stderr


@pytest.mark.parametrize(
    ("name", "said"), [("nothing-like-it", "there is no run"), ("2026", "may mean 2 runs")]
)
def test_a_run_that_cannot_be_meant_is_named(shop: Record, name: str, said: str) -> None:
    ran = ui(shop.root, name)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert RUN in ran.stderr


def test_every_key_of_the_help_is_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ui.md").read_text()
    for keys, _ in HELP:
        for key in keys.replace("…", " ").replace("/ end", "end").split():
            assert f"`{key}`" in page or key in "↑↓←→", key
