"""A real terminal: tmux, driven by keys and read as a person would read it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

DEADLINE = 60.0


class Terminal:
    """One window of a tmux server of its own."""

    def __init__(self, socket: Path, environment: Mapping[str, str]) -> None:
        self._base = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        self._environment = dict(environment)

    def _tmux(self, *arguments: str) -> str:
        ran = subprocess.run(
            [*self._base, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=True,
        )
        return ran.stdout

    def open(self, width: int, height: int, command: str) -> None:
        self._tmux(
            *("new-session", "-d", "-x", str(width), "-y", str(height), command),
            *(";", "set-option", "-g", "remain-on-exit", "on"),
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self._tmux("send-keys", key)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def sees(self, *texts: str) -> str:
        deadline = time.monotonic() + DEADLINE
        while True:
            screen = self.screen()
            if all(text in screen for text in texts):
                return screen
            assert time.monotonic() < deadline, f"never seen: {texts}\n{screen}"
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def programs(self) -> list[psutil.Process]:
        """What runs in it."""
        shell = psutil.Process(int(self._tmux("list-panes", "-F", "#{pane_pid}").strip()))
        return shell.children()

    def end(self) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            self._tmux("kill-server")


@contextmanager
def terminal(root: Path | None, *arguments: str, width: int = 100, height: int = 30) -> Iterator[Terminal]:
    """``ralph ui`` in it; what it says at its end, and its exit code, stay on the screen. None: ``arguments`` say where."""
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name == "RALPH_TRUST" or not name.startswith(("RALPH_", "TMUX"))
    }
    environment |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    environment |= {"COLUMNS": "80", "LINES": "24"}  # what some shells export, and what is wrong soon after
    # The path of a socket must be short, and pytest's folders are not.
    with tempfile.TemporaryDirectory(prefix="ralph-") as folder:
        opened = Terminal(Path(folder) / "tmux", environment)
        script = Path(folder) / "start.sh"
        place = () if root is None else ("--project-dir", str(root))
        words = [sys.executable, "-m", "ralph", "ui", *place, *arguments]
        quoted = " ".join(f"'{word}'" for word in words)
        # The session waits for a key at the end, to keep the last words readable.
        script.write_text(f"{quoted}\necho ended with $?\nread _\n")
        try:
            opened.open(width, height, f"sh '{script}'")
            yield opened
        finally:
            opened.end()
