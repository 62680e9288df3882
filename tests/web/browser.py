"""A real Chromium for tests of the page; they are skipped where there is none."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 40_000  # milliseconds that one step may take on a busy machine
DRIVER = Path(__file__).with_name("browser_driver.mjs")


class Browser:
    """Each method is one step; a step that fails says why."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def _do(self, command: str, **given: Any) -> Any:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"command": command, **given}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, f"the browser went away at {command} {given}"
        answer = json.loads(line)
        assert "error" not in answer, f"{command} {given}: {answer['error']}"
        return answer["value"]

    def goto(self, url: str) -> None:
        self._do("goto", url=url)

    def click(self, selector: str) -> None:
        self._do("click", selector=selector)

    def fill(self, selector: str, text: str) -> None:
        self._do("fill", selector=selector, text=text)

    def press(self, key: str) -> None:
        self._do("press", key=key)

    def see(self, selector: str, text: str = "") -> None:
        """Waits until it is there."""
        self._do("see", selector=selector, text=text)

    def gone(self, selector: str) -> None:
        self._do("gone", selector=selector)

    def text(self, selector: str) -> str:
        return str(self._do("text", selector=selector))

    def count(self, selector: str) -> int:
        return int(self._do("count", selector=selector))

    def run(self, script: str) -> Any:
        return self._do("run", script=script)

    def size(self, width: int, height: int) -> None:
        self._do("size", width=width, height=height)

    def scheme(self, scheme: str) -> None:
        self._do("scheme", scheme=scheme)

    def picture(self, path: Path) -> None:
        self._do("picture", path=str(path))

    def download(self, selector: str, path: Path) -> str:
        return str(self._do("download", selector=selector, path=str(path)))

    @property
    def complaints(self) -> list[str]:
        return list(self._do("complaints"))


@contextmanager
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    node = shutil.which("node")
    if program is None or node is None:
        pytest.skip("needs chromium and node")
    process = subprocess.Popen(
        [node, str(DRIVER), str(_playwright()), program, str(PATIENCE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            pytest.skip("chromium does not start here")
        yield Browser(process)
    finally:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=60)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _playwright() -> Path:
    """Kept between test runs; one of several workers installs it."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    folder = home / ".cache" / "ralph-web"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "node_modules" / "playwright-core" / "package.json").exists():
                _install(folder, home)
    except OSError as error:
        pytest.skip(f"no place for playwright-core: {error}")
    return folder


def _install(folder: Path, home: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm to install playwright-core")
    try:
        subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), "playwright-core@1"],
            env={**os.environ, "HOME": str(home)},
            capture_output=True,
            timeout=120,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("playwright-core could not be installed")
