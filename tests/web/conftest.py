"""A real `ralph web` beside the test, over a record that the test writes as a live run's owner would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from ralph.adapters.processes.process_table import this_process
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.domain.agent.events import Text, Usage
from ralph.domain.loop.asks import Ask
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunEnded,
    RunStarted,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState

SPEND = Spend(0.25, Usage(100, 20, 3, 0), 1.0)
DEADLINE = 40.0


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + DEADLINE
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(0.02)


class LiveRun:
    """A run of which this test is the owner: it is under way as long as the test is."""

    def __init__(self, folder: Path, name: str = "r1", *, parent: str = "", **options: str) -> None:
        self.name = name
        self.folder = folder
        self.database = open_state_database(folder)
        self._journal = SqliteJournal(folder, self.database, name, owner=this_process(), now=time.time())
        self._journal.begin(
            profile="basic",
            agent="claude",
            root=folder.parent,
            options={"maximumIterations": 10, **options},
            parent_id=parent,
        )
        self.write(RunStarted(name, "basic", "claude", str(folder.parent), 10))

    def write(self, *events: LoopEvent) -> None:
        for event in events:
            self._journal.append(event, at=time.time())
        self._journal.commit(LoopState())

    def say(self, *texts: str) -> None:
        self.write(*(AgentActed((Text(text),)) for text in texts))

    def iterate(self, number: int, verdict: Verdict = Verdict.PASSED, *, commit: str = "") -> None:
        proven = verdict is Verdict.PASSED
        self.write(
            IterationStarted(number, 1, 10, "prompt", prompt="Fix the tests.", prompt_chars=14),
            AgentStarted("claude -p", 1),
            AgentActed((Text(f"working on {number}"),)),
            AgentEnded("exited", 0, 2.0, SPEND, tools=4),
            CheckEnded(
                CheckResult("tests", verdict, command="make test", exit_code=0 if proven else 1, seconds=3.0)
            ),
            ClaimsSought(("done: tag response",)),
            IterationEnded(
                number, 1, "accept" if proven else "continue", "why", True, proven, SPEND, 9.0, commit
            ),
        )

    def end(self) -> None:
        self.write(RunEnded(Outcome.COMPLETED, "all done", 2, SPEND, 20.0))

    def hear(self) -> list[Ask]:
        return list(Controls(self.database, self.folder / "ralph.db", self.name).hear(at=time.time()))

    def steering(self) -> list[str]:
        controls = Controls(self.database, self.folder / "ralph.db", self.name)
        return list(controls.steering(at=time.time(), iteration=1))

    def close(self) -> None:
        self._journal.close()
        self.database.close()


@dataclass(frozen=True)
class Site:
    """Where the page is."""

    address: str  # with the token
    process: subprocess.Popen[str]

    @property
    def base(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token(self) -> str:
        return urlsplit(self.address).query.removeprefix("token=")

    def client(self, **headers: str) -> httpx.Client:
        """One with the token; it speaks to loopback only, whatever proxies are set."""
        return self.stranger(authorization=f"Bearer {self.token}", **headers)

    def stranger(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.base, headers=headers, timeout=DEADLINE, trust_env=False)


def served(root: Path, *arguments: str) -> AbstractContextManager[Site]:
    return serving("--project-dir", str(root), *arguments, home=root.parent)


@contextmanager
def serving(*arguments: str, home: Path, **environment: str) -> Iterator[Site]:
    process = subprocess.Popen(
        [sys.executable, "-m", "ralph", "web", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("RALPH_")}
        | {"HOME": str(home)}
        | environment,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            pytest.fail(f"ralph web did not start: {process.communicate(timeout=DEADLINE)[1]}")
        yield Site(address, process)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".ralph").mkdir(parents=True)
    return folder


@pytest.fixture
def live(root: Path) -> Iterator[LiveRun]:
    with closing(LiveRun(root / ".ralph")) as run:
        yield run


@pytest.fixture
def site(root: Path, live: LiveRun) -> Iterator[Site]:
    with served(root) as page:
        yield page


@pytest.fixture(scope="module")
def shared_live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRun]:
    """One for many tests that change nothing: starting a server takes a while."""
    folder = tmp_path_factory.mktemp("shared") / "project" / ".ralph"
    with closing(LiveRun(folder)) as run:
        yield run


@pytest.fixture(scope="module")
def shared_site(shared_live: LiveRun) -> Iterator[Site]:
    with served(shared_live.folder.parent) as page:
        yield page


def frames(lines: Iterator[str]) -> Iterator[tuple[str, str, Any]]:
    """(id, event, data) of a stream of server-sent events."""
    number, event, data = "", "", ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            number = value
        elif name == "event":
            event = value
        elif name == "data":
            data = value
        elif not line and data:
            yield number, event, json.loads(data)
            event, data = "", ""
