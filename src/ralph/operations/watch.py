"""What the faces are given: the feed of a project, what changed in a run, and what was asked."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.adapters.files import read_plain
from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.processes.redaction import Redactor, secrets_in
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.storage.board_reader import BoardRules
from ralph.adapters.storage.feed import Feed
from ralph.adapters.workspace.changes import GitChanges
from ralph.domain.views.iterations import IterationSummary
from ralph.errors import RalphError

__all__ = [
    "changes_in",
    "open_feed",
    "prompt_of",
]

PROMPT_CHARS = 20_000


def open_feed(state_folder: Path) -> Feed:
    """The feed of a project; there need not be a record yet. For one thread."""
    return Feed(state_folder, here=this_process(), started_of=started_of, rules=_Rules(state_folder))


class _Rules:
    """What the settings say about the boards; read again when a file of theirs changed."""

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
    """Settings that cannot be used make a board less right, never a face fail."""
    from ralph.adapters.documents.plan_files import plan_folder
    from ralph.config.loading import load
    from ralph.wiring.roles import completion_defaults

    try:
        settings = load(root, environ=os.environ).settings
        folder = plan_folder(root, Path(settings.profiles.reviewed.plan_folder))
        return BoardRules(folder, completion_defaults(settings))
    except (RalphError, OSError, RuntimeError):  # a circle of links
        problem = "the settings cannot be used (`ralph config validate`): roles and limits are the usual ones"
        return BoardRules(root / "ralph", problem=problem)


def changes_in(root: str, state_folder: Path | None = None) -> GitChanges:
    """What was changed in a run's directory. That of a task is gone when its work was taken in: the commits are
    in the project's own repository then."""
    path = Path(root)
    is_gone = state_folder is not None and not path.is_dir()
    runner = PosixProcessRunner(run_id="", base_environment=os.environ)
    return GitChanges(state_folder.parent if is_gone and state_folder else path, runner, has_tree=not is_gone)


def prompt_of(state_folder: Path, iteration: IterationSummary) -> str:
    """What was asked in an iteration, secrets masked; the recorded beginning if its file is gone."""
    path = Path(iteration.prompt_file)
    try:
        if not path.resolve().is_relative_to((state_folder / "runs").resolve()):
            return iteration.prompt
        text = read_plain(path, 4 * PROMPT_CHARS).decode(errors="replace")[:PROMPT_CHARS]
    except (OSError, RuntimeError):  # a circle of links
        return iteration.prompt
    return Redactor(secrets_in(os.environ)).redact(text)
