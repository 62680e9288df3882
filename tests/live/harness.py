"""A repository, a real agent and the installed ``ralph`` as a process; what it recorded, and what it left running."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralph.testing.model import ScriptedModel, Step

from .agents import LiveAgent
from .install import AGENTS, NODE, programs

DONE = "<response>DONE</response>"
PROMPT = f"Do the work, then output {DONE}."

LONG = 240.0
"""Seconds after which something will not happen any more, on however busy a machine."""


def wait_for(condition: Callable[[], bool], what: str, process: subprocess.Popen[str] | None = None) -> None:
    """``process``: whose doing it is; once that has ended there is nothing to wait for."""
    deadline = time.monotonic() + LONG
    while not condition():
        if process is not None and process.poll() is not None:
            ended(process, None)
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class LiveProject:
    """A git repository whose ``ralph`` runs one real agent."""

    agent: LiveAgent
    root: Path
    home: Path
    cache: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def model(self, *steps: Step) -> ScriptedModel:
        return ScriptedModel([step.hurried() if self.agent.loopback.persists else step for step in steps])

    def settings(
        self, model_url: str, *, subscribed: bool = False, flags: Sequence[str] = (), **values: Any
    ) -> None:
        environment = self.agent.loopback.prepare(self.home, model_url)
        if subscribed:
            environment |= self.agent.loopback.subscription
        agent = {"command": self.agent.name, "flags": [*flags], "environment": environment}
        values.setdefault("limits", {"maxAttempts": 1})
        folder = self.root / ".ralph"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({"agent": agent, **values}))

    def ralph(self, *arguments: str, check: int, command: str = "run") -> str:
        """Run it to its end; its stderr."""
        with self.running(*arguments, command=command) as process:
            return ended(process, check)

    @contextmanager
    def running(self, *arguments: str, command: str = "run") -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "ralph", command, *arguments],
            cwd=self.root,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def env(self) -> dict[str, str]:
        found = [programs(self.cache, NODE), programs(self.cache, AGENTS[self.agent.name])]
        temporary = self.home / "tmp"
        temporary.mkdir(exist_ok=True)
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith(("_proxy", "_api_key", "_token"))
        }
        return {
            **inherited,
            "PATH": os.pathsep.join([*map(str, found), os.environ["PATH"]]),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "TMPDIR": str(temporary),
            "PYTHONUTF8": "1",
            **self.environment,
        }

    # --- what it recorded ----------------------------------------------------------------------------------

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        database = sqlite3.connect(f"file:{self.root / '.ralph' / 'ralph.db'}?mode=ro", uri=True, timeout=90)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Empty while there is no record yet."""
        try:
            rows = self.rows(f"SELECT data FROM events WHERE kind = '{kind}' ORDER BY seq")
        except sqlite3.OperationalError:
            return []
        return [json.loads(data) for (data,) in rows]

    def prompt(self, iteration: int) -> str:
        return (self.root / ".ralph" / f"prompt_{iteration:03}.txt").read_text()

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True, timeout=LONG
        ).stdout

    # --- what it left running ------------------------------------------------------------------------------

    def processes(self) -> list[str]:
        """Everything alive that has this project's home, or works in its folder, each by its command line."""
        mark = f"HOME={self.home}".encode()
        return [
            f"{pid}: {command}"
            for pid, command, environment, cwd in _process_table()
            if mark in environment or cwd.is_relative_to(self.root)
        ]

    def assert_nothing_left(self) -> None:
        wait_for(lambda: not self.processes(), f"the end of {self.processes()}")


def ended(process: subprocess.Popen[str], expected: int | None) -> str:
    """Its stderr; None: it was not to end at all."""
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == expected, f"exit {process.returncode}, not {expected}\n{out}\n{err}"
    return err


def _process_table() -> Iterator[tuple[int, str, Sequence[bytes], Path]]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            cwd = (folder / "cwd").readlink()
            state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue  # it has ended while we looked, or is not ours to read
        if state != "Z":
            yield int(folder.name), command.strip(), environment, cwd
