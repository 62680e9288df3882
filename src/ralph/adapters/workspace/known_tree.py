"""Whether git would say of a working tree what it said before: then it need not be asked, which costs a process.

What `git status` says follows from files that can be listed, and nobody can change one without the system noting when (``ctime``).
So what git said holds as long as they all are as they were before git looked. Wherever that is not certain, git is asked: in
a tree that is large, or has others inside; by settings that lead it to further files or programs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from stat import S_ISDIR

from ralph.adapters import beneath
from ralph.adapters.files import read_whole
from ralph.adapters.git_folders import entries, git_folders, included, unexamined, user_configs
from ralph.domain.sandbox.own_git import ENVIRONMENT, OWN
from ralph.domain.text.git_config import without_subsection
from ralph.errors import ConfigError
from ralph.values import dataclass

MOST_ENTRIES = 300
"""Files and folders. Where there are more, looking at all of them takes as long as git does."""
SETTLED_SECONDS = 0.05
"""What was changed before that will have another time when it is changed again: clocks of files advance every 10 ms at least."""
COARSE_SECONDS = 3.0
"""The same where times are counted in milliseconds or in seconds: on FAT in two of them."""
_MILLISECOND = 1_000_000
_SECOND = 1_000_000_000
_NEW = b"? "
_OBEYED = frozenset({".gitattributes", ".gitignore", ".gitmodules"})
"""Git does what is in them, whether or not it tracks them."""
_IN_REPOSITORY = (
    "HEAD", "commondir", "config", "config.worktree", "index", "info/attributes", "info/exclude", "info/sparse-checkout",
    "objects", "objects/pack", "packed-refs",
)  # fmt: skip
_LEADS_ON = frozenset({
    "branch.merge", "branch.remote", "core.attributesfile", "core.excludesfile", "core.worktree", "extensions.refstorage",
    "filter.clean", "filter.process", "filter.smudge", "index.sparse", "core.splitindex", "status.showstash",
})  # fmt: skip
"""Settings by which the answer depends on more than is looked at here."""
_HARMLESS = ("GIT_ASKPASS", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_HTTP_", "GIT_SSH", "GIT_SSL_", *ENVIRONMENT)
"""How variables begin that say nothing about a working tree. Others may name another index, or further settings."""
_HEAD_BYTES = 255

Mark = tuple[int, ...] | None
"""A file's identity, size and times; None: it is not there."""


@dataclass(frozen=True, slots=True)
class _Said:
    """``marks``: of all that the answer follows from. ``new``: files of which git says no more than that they are there."""

    answer: bytes
    marks: Mapping[str, Mark]
    new: frozenset[str]


class KnownTree:
    """The working tree at ``top``, whose status is asked there. ``recall`` comes before git is asked, ``keep`` after it."""

    def __init__(
        self, top: Path, environ: Mapping[str, str] = os.environ, *, now: Callable[[], int] = time.time_ns
    ) -> None:
        self._top = top
        self._environ = environ
        self._now = now
        self._said: _Said | None = None
        self._seen: dict[str, Mark] | None = None
        self._seen_at = 0
        self._sources: dict[str, Mark] = {}
        self._read: tuple[str, ...] | None = None
        self._is_possible = all(name.startswith(_HARMLESS) for name in environ if name.startswith("GIT_"))

    def recall(self) -> bytes | None:
        """What git said last, if it would say that now."""
        self._seen_at = self._now()
        self._seen = seen = self._look()
        said = self._said
        if said is None or seen is None:
            return None
        return said.answer if said.marks == _without(seen, said.new) else None

    def keep(self, answer: bytes) -> None:
        """What git said after ``recall`` knew nothing."""
        self._said = None
        if self._seen is None:
            return
        paths = (entry[2:] for entry in answer.split(b"\0") if entry.startswith(_NEW))
        new = frozenset(path for path in map(os.fsdecode, paths) if os.path.basename(path) not in _OBEYED)  # noqa: PTH119
        marks = _without(self._seen, new)
        if all(_is_settled(mark, self._seen_at) for mark in marks.values()):
            self._said = _Said(answer, marks, new)

    def _look(self) -> dict[str, Mark] | None:
        """All that the answer follows from; None if that is too much, or cannot be told."""
        try:
            found = self._outside() if self._is_possible else None
            if found is None:
                return None
            for path, mark in self._walk():
                found[path] = mark
                if len(found) > MOST_ENTRIES:
                    return None
        except OSError:  # a folder that cannot be read, or goes just now
            return None
        return found

    def _walk(self) -> Iterator[tuple[str, Mark]]:
        """Files by their paths from the top, folders with a slash behind."""
        yield "/", _mark(os.fspath(self._top))
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            for name, found in beneath.list_states(self._top / folder, self._top):
                path, is_folder = f"{folder}{name}", S_ISDIR(found.st_mode)
                if name.lower() == ".git":
                    if folder:
                        raise IsADirectoryError(path)  # a repository in this one, which git looks into
                elif not is_folder:
                    yield path, _marked(found)
                elif folder or name not in OWN:
                    waiting.append(f"{path}/")
                    yield f"{path}/", _marked(found)

    # --- what is outside of the tree ---

    def _outside(self) -> dict[str, Mark] | None:
        """Files beside the tree that git reads; None if it may read others."""
        seen = {path: _mark(path) for path in self._read or self._sources}
        if not self._sources or any(seen[path] != mark for path, mark in self._sources.items()):
            sources, self._read = self._examine()
            is_settled = all(_is_settled(mark, self._seen_at) for mark in sources.values())
            self._sources = sources if is_settled else {}  # else it is examined again
            seen = sources | {path: _mark(path) for path in self._read or () if path not in sources}
        return seen if self._read is not None else None

    def _examine(self) -> tuple[dict[str, Mark], tuple[str, ...] | None]:
        """What says which files git reads, as it was before it was read; and those files."""
        try:
            folders = git_folders(self._top)
        except ConfigError:
            return {}, None
        if folders is None or folders.own != folders.common or folders.top != self._top:
            return {}, None
        head, own = folders.own / "HEAD", folders.own
        configs = [own / "config", own / "config.worktree", *user_configs(self._environ)]
        sources = {os.fspath(path): _mark(os.fspath(path)) for path in (head, *configs)}
        is_split = any(name.startswith("sharedindex.") for name in beneath.list_names(own, own))
        if is_split or any(map(_leads_on, configs)):
            return sources, None
        read = [own / name for name in _IN_REPOSITORY]
        words = (read_whole(head, _HEAD_BYTES) or b"").split()
        if words[:1] == [b"ref:"]:
            branch = own / os.fsdecode(words[-1])
            sources[os.fspath(branch)] = _mark(os.fspath(branch))
            if (read_whole(branch, _HEAD_BYTES) or b"").startswith(b"ref:"):
                return sources, None
            read.append(branch)
        home = Path(self._environ.get("HOME") or "/nonexistent")
        users = Path(self._environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
        read += [*configs, users / "attributes", users / "ignore", Path("/etc/gitattributes")]
        return sources, tuple(dict.fromkeys(map(os.fspath, read)))


def _leads_on(config: Path) -> bool:
    """Whether git may read other files by it, or run something."""
    if unexamined(config) is not None or included(config):
        return True
    return any(without_subsection(key) in _LEADS_ON for key, _ in entries(config))


def _without(seen: Mapping[str, Mark], new: frozenset[str]) -> dict[str, Mark]:
    return {path: mark for path, mark in seen.items() if path not in new}


def _mark(path: str) -> Mark:
    """Of what is there in the end, if it is a link."""
    try:
        return _marked(os.stat(path))  # noqa: PTH116 - asked of all there is
    except (FileNotFoundError, NotADirectoryError):
        return None


def _marked(found: os.stat_result) -> Mark:
    return (
        found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns,
    )  # fmt: skip


def _is_settled(mark: Mark, at: int) -> bool:
    """Whether a change after ``at`` will show."""
    if mark is None:
        return True
    age = at - max(mark[-2:])
    is_fine = all(moment % _MILLISECOND for moment in mark[-2:])
    return age > (SETTLED_SECONDS if is_fine else COARSE_SECONDS) * _SECOND
