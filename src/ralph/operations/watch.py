"""Watch a project: the feed of its record, what a run changed, what it was asked."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ralph.adapters import beneath
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.processes.redaction import Redactor, secrets_in
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.storage.board_reader import BoardRules
from ralph.adapters.storage.feed import Feed
from ralph.adapters.storage.places import run_folder
from ralph.adapters.storage.run_files import load_request
from ralph.adapters.storage.wire import restore
from ralph.adapters.workspace.changes import GitChanges
from ralph.config.root import shares_record
from ralph.domain.loop.budget import Budget
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.overview import Overview, ProjectLook, fold_projects
from ralph.domain.views.runs import Head
from ralph.errors import RalphError
from ralph.operations.projects import Project, look_at, unreadable

__all__ = [
    "LOOK_EVERY",
    "Feed",
    "ProjectsWatch",
    "Watch",
    "changes_in",
    "open_feed",
    "pace_of",
    "prompt_of",
    "restore",
    "run_budget",
]

T = TypeVar("T")

PROMPT_CHARS = 20_000
LOOK_EVERY = 0.2
"""Seconds between two checks for news."""
SHARE = 0.05
"""Seconds between two checks for each project that is watched: many cost no more than a few."""
LOOK_AGAIN = 2.0
"""Seconds after which to look even if nothing was written: a process that dies writes nothing."""


def open_feed(state_folder: Path) -> Feed:
    """The feed of a project, even before there is a record. For one thread."""
    return Feed(state_folder, here=this_process(), started_of=started_of, rules=_Rules(state_folder))


class Watch:
    """Reads the record for a screen or a server, in one thread of its own: a feed belongs to one thread."""

    def __init__(self, state_folder: Path) -> None:
        self.state_folder = state_folder
        self._thread = ThreadPoolExecutor(1, "ralph-feed")
        self._feed: Feed | None = None
        self._head: Head | None = None
        self._looked_at = 0.0

    async def ask(self, question: Callable[[Feed], T]) -> T:
        """Raises RalphError if the record cannot be read."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    async def has_news(self) -> bool:
        """Whether to look again: something was written, or a process may have died.

        Costs microseconds. Raises RalphError if the record cannot be read.
        """
        before, self._head = self._head, None  # after a failure, anything is news
        self._head = await self.ask(lambda feed: feed.head())
        now = time.monotonic()
        if self._head == before and now - self._looked_at < LOOK_AGAIN:
            return False
        self._looked_at = now
        return True

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _answer(self, question: Callable[[Feed], T]) -> T:
        if self._feed is None:
            self._feed = open_feed(self.state_folder)
        return question(self._feed)

    def _close(self) -> None:
        if self._feed is not None:
            self._feed.close()


def pace_of(projects: int) -> float:
    """Seconds between two checks of each of so many projects."""
    return max(LOOK_EVERY, SHARE * projects)


class ProjectsWatch:
    """Several projects for one screen, each read in a thread of its own: what one cannot tell is its own problem."""

    def __init__(self, projects: Sequence[Project]) -> None:
        self.projects = {project.key: project for project in projects}
        self.pace = pace_of(len(projects))
        self._watches = {
            project.key: Watch(project.state_folder) for project in projects if not project.problem
        }
        self._looks = {project.key: unreadable(project) for project in projects}

    async def look(self) -> Overview | None:
        """None: nothing was written since the last look."""
        found = await asyncio.gather(*(self._look(key, watch) for key, watch in self._watches.items()))
        return fold_projects(list(self._looks.values())) if any(found) else None

    async def ask(self, key: str, question: Callable[[Feed], T]) -> T:
        """Raises RalphError if the record of that project cannot be read."""
        return await self._watches[key].ask(question)

    async def close(self) -> None:
        await asyncio.gather(*(watch.close() for watch in self._watches.values()))

    async def _look(self, key: str, watch: Watch) -> bool:
        project, before = self.projects[key], self._looks[key]

        def read(feed: Feed) -> ProjectLook:
            return look_at(project, feed)

        try:
            if not await watch.has_news():
                return False
            self._looks[key] = await watch.ask(read)
        except RalphError as error:
            self._looks[key] = unreadable(project, error)
        return self._looks[key] != before


def run_budget(state_folder: Path, run_id: str) -> Budget:
    """The limits that a run was started with; none if that is unknown."""
    try:
        limits = load_request(run_folder(state_folder, run_id)).settings.get("limits")
    except RalphError:
        return Budget()
    if not isinstance(limits, dict):
        return Budget()
    cost, tokens, seconds = (limits.get(name) for name in ("maxCost", "maxTokens", "maxTime"))
    return Budget(
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
        tokens=tokens if isinstance(tokens, int) else None,
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
    )


class _Rules:
    """What the settings say about the boards; read again when a settings file changes."""

    def __init__(self, state_folder: Path) -> None:
        self._root = state_folder.parent
        self._files = [state_folder / name for name in ("settings.json", "settings.local.json")]
        self._seen: list[tuple[int, int]] | None = None
        self._rules = BoardRules(self._root / "ralph")

    def __call__(self) -> BoardRules:
        seen = [_identity(path) for path in self._files]
        if seen != self._seen:
            self._seen, self._rules = seen, _board_rules(self._root)
        return self._rules


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino


def _board_rules(root: Path) -> BoardRules:
    """Unusable settings make a board less accurate; they never make a face fail."""
    from ralph.adapters.documents.plan_files import plan_folder
    from ralph.config.loading import load
    from ralph.wiring.pipelines import completion_defaults

    try:
        settings = load(root, environ=os.environ).settings
        folder = plan_folder(root, Path(settings.profiles.reviewed.plan_folder))
        return BoardRules(folder, completion_defaults(settings))
    except (RalphError, OSError, RuntimeError):  # a circle of links
        problem = "the settings cannot be used (`ralph config validate`): roles and limits are the defaults"
        return BoardRules(root / "ralph", problem=problem)


def changes_in(root: str, state_folder: Path) -> GitChanges:
    """What changed in a run's directory; in the project's repository once a task's worktree was merged and removed.

    So too if the record names a folder that is none of the project's: it is not ours to look into.
    """
    path, project = Path(root), state_folder.absolute().parent
    has_tree = shares_record(path, project)
    own = OwnPrograms(reach=(path, project))
    runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
    return GitChanges(path if has_tree else project, runner, has_tree=has_tree)


def prompt_of(state_folder: Path, iteration: IterationView, longest: int = PROMPT_CHARS) -> str:
    """An iteration's prompt, secrets masked; only its recorded beginning if the file was removed."""
    path = (
        state_folder / "runs" / Path(*Path(iteration.prompt_file).parts[-2:])
    )  # the project may have moved since
    try:
        text = beneath.read_plain(path, 4 * longest, state_folder).decode(errors="replace")
    except (OSError, ValueError):
        return iteration.prompt
    text = text[:longest]
    return Redactor(secrets_in(os.environ)).redact(text)
