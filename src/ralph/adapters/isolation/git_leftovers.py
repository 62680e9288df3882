"""What an agent leaves in git's own folder that acts at the user's next git command, and is no link and no pipe.

Commands in the list of a rebase run at ``git rebase --continue``, and so does the strategy that it names; a
``config.worktree`` counts from the first ``git sparse-checkout set`` on; replaced objects make ``git show`` and ``git push``
speak of different commits. An agent may rebase, and leave it unfinished, but whatever of this was not there when the run
began goes when its process has ended. Of an unfinished operation only what is known to be mere data stays.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.git_folders import WORKTREES, GitFolders, git_folders
from ralph.domain.text.safe_text import clean_line
from ralph.patterns import pattern

_LISTS = ("rebase-merge/git-rebase-todo", "sequencer/todo")
_FILES = ("config.worktree", "info/grafts")
_DATA = {
    "rebase-merge": frozenset({
        "allow_rerere_autoupdate", "amend", "author-script", "autostash", "cdate_is_adate", "current-fixups", "done",
        "dropped", "drop_redundant_commits", "end", "force-rewritten", "git-rebase-todo", "git-rebase-todo.backup",
        "head-name", "ignore_date", "interactive", "keep_redundant_commits", "message", "message-fixup", "message-squash",
        "msgnum", "no-reschedule-failed-exec", "onto", "orig-head", "patch", "quiet", "refs-to-squash",
        "reschedule-failed-exec", "rewritten-list", "rewritten-pending", "signoff", "squash-onto", "stopped-sha",
        "update-refs", "verbose",
    }),
    "rebase-apply": frozenset({
        "abort-safety", "applying", "author-script", "autostash", "dirtyindex", "final-commit", "head-name", "info", "keep",
        "last", "messageid", "msg", "msg-clean", "next", "no-message-id", "onto", "orig-head", "original-commit", "patch",
        "quiet", "quoted-cr", "rebasing", "rewritten", "scissors", "sign", "threeway", "utf8",
    }),
    "sequencer": frozenset({"abort-safety", "head", "todo"}),
}  # fmt: skip
_PATCH = pattern(r"\d{4,}")
_OPTIONS = "sequencer/opts"
_HARMLESS_OPTIONS = pattern(
    rb"(?:\[options\]\n|\t(?:allow-(?:empty|empty-message|ff|rerere-auto)|default-msg-cleanup|edit|mainline|no-commit"
    rb"|(?:drop|keep)-redundant-commits|record-origin|signoff) = \w+\n)*"
)
_COMMAND = pattern(rb"[ \t]*(?:exec|x)[ \t]")
_NAMES = "BISECT_NAMES"  # older gits give it to a shell
_QUOTED = pattern(rb"(?:\s*'[^']*')*\s*")
_REPLACED = "refs/replace"
_PACKED = "packed-refs"
_LINE = pattern(rb"[^\n]*\n|[^\n]+")
_REPLACED_LINE = pattern(rb"[0-9A-Fa-f]+[ \t\r]refs/replace/")
_MOST_BYTES = 50_000_000


class GitLeftovers:
    """In the repository that contains ``workspace``. ``report`` gets a message for each that was removed."""

    def __init__(self, workspace: Path, report: Callable[[str], None]) -> None:
        self._workspace = workspace
        self._report = report
        found = git_folders(workspace)
        # Those that are there are read-only for the agent (``git_places``); the user may be rebasing in one.
        self._others = set() if found is None else {*_worktrees(found)} - {found.own}
        self._known = {path: _read(path) for folder in self._folders() for path in _acting(folder)}
        self._commands = {line for folder in self._folders() for line in _commands(folder)}
        self._examined: dict[Path, tuple[int, int, int]] = {}  # packed references may be many megabytes
        self._long = {path: _version(path) for folder in self._folders() for path in _too_long(folder)}
        self._packed = set() if found is None else {*_replaced_lines(found.common / _PACKED)}

    def remove(self) -> None:
        for folder in self._folders():
            for path in _acting(folder):
                self._put_back(path) if path in self._known else self._drop(path)
            for path in _too_long(folder):
                if self._long.get(path) != _version(path):
                    self._drop(path)
            for name in _LISTS:
                self._without_commands(folder / name)
            if (names := _read(folder / _NAMES)) is not None and not _QUOTED.fullmatch(names):
                self._drop(folder / _NAMES)
            self._unpack(folder / _PACKED)

    def _folders(self) -> Iterator[Path]:
        found = git_folders(self._workspace)
        folders = iter(()) if found is None else _all_folders(found)
        return (folder for folder in folders if folder not in self._others)

    def _drop(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            path.unlink()
            shown = clean_line(os.fsencode(path.name).decode(errors="replace"))
            self._report(f"removed {shown} from git's folder: it would have acted at your next git command")

    def _put_back(self, path: Path) -> None:
        was = self._known[path]
        if was is not None and _read(path) != was:
            with contextlib.suppress(OSError):
                beneath.write_atomic(path, was)
                self._report(f"put back {path.name} in git's folder: the agent changed it")

    def _without_commands(self, file: Path) -> None:
        text = _read(file)
        if text is None or all(line in self._commands for line in _command_lines(text)):
            return
        lines = _lines(text)
        kept = [line for line in lines if line in self._commands or not _COMMAND.match(line)]
        with contextlib.suppress(OSError):
            beneath.write_atomic(file, b"".join(kept))
            self._report(
                "removed commands from the list of a rebase that the agent left: they would have run outside"
            )

    def _unpack(self, file: Path) -> None:
        now = _version(file)
        if now is None or self._examined.get(file) == now:
            return
        self._examined[file] = now
        text = _read(file)
        if text is None and _mentions(file, f"{_REPLACED}/".encode()):
            self._report(f"{file} is too long to be cleaned of {_REPLACED}: see `git replace --list`")
        if text is None or not any(line not in self._packed for line in _replaced_lines(file)):
            return
        kept, is_dropped = [], False
        for line in _lines(text):
            if not line.startswith(b"^"):
                is_dropped = _is_replaced(line) and line not in self._packed
            if not is_dropped:
                kept.append(line)
        with contextlib.suppress(OSError):
            beneath.write_atomic(file, b"".join(kept))
            self._report(f"removed {_REPLACED} from git's folder: what you see would not be what you push")


def _all_folders(found: GitFolders) -> Iterator[Path]:
    yield from dict.fromkeys((found.common, found.own))
    if found.own == found.common:  # from a worktree an agent can neither make nor change another one
        yield from _worktrees(found)


def _worktrees(found: GitFolders) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (Path(entry.path) for entry in os.scandir(found.common / WORKTREES) if _is_folder(entry))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _acting(folder: Path) -> Iterator[Path]:
    yield from (path for name in _FILES if (path := folder / name).is_file() and not path.is_symlink())
    for name, data in _DATA.items():
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder / name):
                path = Path(entry.path)
                if entry.is_file(follow_symlinks=False) and entry.name not in data:
                    if name == "rebase-apply" and _PATCH.fullmatch(entry.name):
                        continue
                    if path == folder / _OPTIONS and _HARMLESS_OPTIONS.fullmatch(_read(path) or b"-"):
                        continue
                    yield path
    waiting = [folder / _REPLACED]
    while waiting:
        with contextlib.suppress(OSError):
            for entry in os.scandir(waiting.pop()):
                if _is_folder(entry):
                    waiting.append(Path(entry.path))
                else:
                    yield Path(entry.path)


def _too_long(folder: Path) -> Iterator[Path]:
    """Nobody writes such a list, and nobody could look through it. Branches may be that many."""
    for path in (*(folder / name for name in _LISTS), folder / _NAMES):
        if _read(path) is None and path.is_file() and not path.is_symlink():
            yield path


def _commands(folder: Path) -> Iterator[bytes]:
    for name in _LISTS:
        yield from _command_lines(_read(folder / name) or b"")


def _command_lines(text: bytes) -> Iterator[bytes]:
    return (line for line in _lines(text) if _COMMAND.match(line))


def _replaced_lines(file: Path) -> Iterator[bytes]:
    return (line for line in _lines(_read(file) or b"") if _is_replaced(line))


def _lines(text: bytes) -> list[bytes]:
    """As git sees them: a carriage return ends none."""
    return _LINE.findall(text)


def _is_replaced(line: bytes) -> bool:
    return _REPLACED_LINE.match(line) is not None


def _mentions(file: Path, what: bytes) -> bool:
    with contextlib.suppress(OSError), beneath.open_plain(file) as opened:
        before = b""
        while chunk := opened.read(1 << 20):
            if what in before + chunk:
                return True
            before = chunk[-len(what) :]
    return False


def _version(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat(follow_symlinks=False)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_ctime_ns


def _read(file: Path) -> bytes | None:
    """None: it is not there, or too long to be looked through."""
    return beneath.read_whole(file, _MOST_BYTES)
