"""A ralph that runs beside the test, and waiting for what it does without sleeping on luck."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .conftest import Project


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(0.01)


@contextmanager
def running(project: Project, *arguments: str, command: str = "run") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "ralph", command, *arguments],
        cwd=project.root,
        env=project.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=90)
    return process.returncode, err


def alive(pid_file: Path) -> bool:
    """A zombie that nobody has collected yet is dead enough."""
    try:
        stat = Path(f"/proc/{pid_file.read_text().strip()}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def kinds(project: Project) -> list[str]:
    """None while there is no record yet."""
    try:
        return [kind for (kind,) in project.rows("SELECT kind FROM events ORDER BY seq")]
    except sqlite3.OperationalError:
        return []
