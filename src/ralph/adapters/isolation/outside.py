"""What an agent leaves in its sandbox that would act outside of it: links, traps for git, and programs that run outside.

Git writes through a link (a commit's message, a branch's log) to wherever it leads, waits for ever at a pipe, and
takes its configuration from where a ``commondir`` points.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from ralph.adapters.files import expand_home, real_path
from ralph.adapters.git import behind_gate
from ralph.adapters.git_folders import (
    COMMON_DIR,
    MARKER,
    entries,
    git_folders,
    included,
    leads_to_itself,
    user_configs,
)
from ralph.adapters.trees import open_up, remove_tree
from ralph.domain.sandbox.own_git import RUNS_NOTHING
from ralph.domain.text.git_config import without_subsection
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ConfigError

# Settings of git that name files, but none that it runs, or none that the agent can change.
_NOT_RUN = frozenset({
    "blame.ignorerevsfile", "commit.template", "core.attributesfile", "core.excludesfile", "core.hookspath",
    "core.worktree", "gpg.allowedsignersfile", "include.path", "includeif.path", "init.templatedir", "mailmap.file",
    "safe.directory",
})  # fmt: skip
_NO_PROGRAMS = ("branch.", "extensions.", "remote.", "submodule.", "url.", "user.")
_MOST_REPORTED = 5
_OBJECTS = "objects"
_HOOKS = "hooks"  # also a submodule's: nothing is written there
_NOT_WRITTEN = frozenset({_HOOKS, "branches", "remotes", "annex"})  # read-only, or another tool's
_MODULES = "modules"
_LFS = "lfs"  # some keep it elsewhere, for several repositories
_DEEPEST = 100  # no name of a branch has as many parts
_SETTLED = 2_000_000_000  # nanoseconds after which every clock has moved on
_COUNT = "GIT_CONFIG_COUNT"
_SAFE = {**RUNS_NOTHING, "diff.ignoreSubmodules": "all"}


class GitTraps:
    """In the repository that contains ``workspace``. ``report`` gets a message for each that was removed."""

    def __init__(self, workspace: Path, report: Callable[[str], None]) -> None:
        self._workspace = workspace
        self._report = report
        found = git_folders(workspace)
        store = None if found is None else found.common / _LFS
        self._own = {} if store is None or not store.is_symlink() else {str(store): store.readlink()}
        self._looked: dict[str, tuple[tuple[int, int], list[str]]] = {}

    def found(self) -> list[Path]:
        folders = git_folders(self._workspace)
        found = {*_bare_head(self._workspace)}
        if folders is not None:
            found |= {*self._traps(str(folders.common), is_common=True)}
            if folders.own != folders.common:
                found |= {*self._traps(str(folders.own), is_common=False)}
        return sorted(found)

    def require_none(self) -> None:
        """Before the agent starts: later it would be unclear who put it there. Raises ConfigError."""
        if found := self.found():
            message = (
                f"{_shown(found[0])} was not put there by git, which would write or read wherever it leads"
            )
            hint = "remove it if it is not yours; to keep links in git's own folder, use --no-sandbox"
            raise ConfigError(message, hint=hint)

    def remove(self) -> None:
        removed: list[Path] = []
        open_up(self._workspace / MARKER)  # an agent may have closed it, for everyone
        for path in self.found():
            with contextlib.suppress(OSError):
                remove_tree(path)
                removed.append(path)
        for path in removed[:_MOST_REPORTED]:
            self._report(f"removed {_shown(path)}: the agent put it where git would have followed it")
        if len(removed) > _MOST_REPORTED:
            self._report(f"removed {len(removed) - _MOST_REPORTED} more files that the agent put there")

    def _traps(self, top: str, *, is_common: bool) -> Iterator[Path]:
        """Whatever is neither a plain file nor a folder, and folders nested deeper than anyone could walk."""
        waiting = [(top, 0)]
        while waiting:
            folder, depth = waiting.pop()
            if depth > _DEEPEST:
                yield Path(folder)
                continue
            is_repository = is_common if depth == 0 else folder.startswith(f"{top}/{_MODULES}/")
            traps, inner = self._look_into(folder, is_top=depth == 0, is_repository=is_repository)
            yield from traps
            waiting += ((path, depth + 1) for path in inner)

    def _look_into(self, folder: str, *, is_top: bool, is_repository: bool) -> tuple[list[Path], list[str]]:
        """The traps in it, and the folders to go on with. One without any is not read again until it changes."""
        try:
            found = os.lstat(folder)
            version = found.st_ino, found.st_ctime_ns
            if folder in self._looked and self._looked[folder][0] == version:
                return [], self._looked[folder][1]
            entries = [*os.scandir(folder)]
        except OSError:  # deleted meanwhile, or closed to git as well
            return [], []
        skipped = _NOT_WRITTEN if is_top else {_HOOKS} if is_repository else frozenset()
        traps, inner = [], []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner += [entry.path] if entry.name not in skipped else []
            elif entry.path in self._own and _leads_to(Path(entry.path)) == self._own[entry.path]:
                continue
            elif not entry.is_file(follow_symlinks=False) or (is_repository and _leads_away(entry)):
                traps.append(Path(entry.path))
        # The files of a repository count, not only their names.
        if not (traps or is_repository) and time.time_ns() - found.st_ctime_ns > _SETTLED:
            self._looked[folder] = version, inner
        return traps, inner


def _shown(path: Path) -> str:
    """Cleaned: the agent chose the name."""
    return clean_line(str(path).encode(errors="surrogateescape").decode(errors="replace"))


def _bare_head(folder: Path) -> Iterator[Path]:
    """With it, and the other two, the folder is a repository of its own, for whoever stands in it."""
    head = folder / "HEAD"
    if os.path.lexists(head) and all((folder / name).is_dir() for name in (_OBJECTS, "refs")):
        yield head


def _leads_away(entry: os.DirEntry[str]) -> bool:
    return entry.name == COMMON_DIR and not leads_to_itself(Path(entry.path))


class KeptLinks:
    """Links on the way to what the user runs.

    Nothing can be mounted over a link, so inside a sandbox an agent could replace one that is where it may write. Each
    is put back after every process.
    """

    def __init__(self, paths: Iterable[Path], report: Callable[[str], None]) -> None:
        self._targets = {path: path.readlink() for path in paths if path.is_symlink()}
        self._report = report

    def restore(self) -> None:
        for path, target in self._targets.items():
            if _leads_to(path) == target:
                continue
            with contextlib.suppress(OSError):
                if os.path.lexists(path):
                    path.rename(_free(path))
                path.symlink_to(target)
                self._report(f"put back {path}, a link to {target} that the agent replaced")


def _leads_to(path: Path) -> Path | None:
    try:
        return path.readlink()
    except OSError:
        return None


def _free(path: Path) -> Path:
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.replaced-{number}")):
        number += 1
    return aside


def safe_git_variables(environ: Mapping[str, str], helpers: str, workspace: Path) -> dict[str, str]:
    """Variables that keep the user's git commands from running anything of the agent's; added to those in ``environ``.

    The repository's own configuration and hooks are out of the agent's reach, but it can make another repository in
    the workspace and add it as a submodule: git would run what *its* configuration names. The project's own hooks
    are safe, but what they run (a linter's configuration, a test) is the agent's work. ``helpers``: where git's own are.
    """
    given = environ.get(_COUNT, "")
    first = int(given) if given.isascii() and given.isdigit() else 0
    variables = {
        _COUNT: str(first + len(_SAFE)),
        "GIT_NO_LAZY_FETCH": "1",
        **behind_gate(workspace, environ),
        "PATH": f"{helpers}{os.pathsep}{environ['PATH']}",  # git looks behind the gate for the rest
    }
    for number, (key, value) in enumerate(_SAFE.items(), first):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def exposed_commands(workspace: Path, commands: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Notes for the head of a run on commands that run outside although the agent can change what they start.

    ``commands`` by what names them; those in git's configuration are added.
    """
    named = [(who, command) for who, some in commands.items() for command in some]
    folders = git_folders(workspace)
    if folders is not None:
        for config in (folders.common / "config", *user_configs()):
            for part in (config, *included(config)):
                named += [
                    (f"git's {key}", value)
                    for key, value in entries(part)
                    if without_subsection(key) not in _NOT_RUN and not key.startswith(_NO_PROGRAMS)
                ]
    for who, command in dict.fromkeys(named):
        if (path := _in_workspace(command, workspace, may_come=who in commands)) is not None:
            yield f"runs outside, though the agent can change it: {path} ({who})"


def _in_workspace(command: str, workspace: Path, *, may_come: bool) -> Path | None:
    """The first file there that it names. ``may_come``: or whatever is written as a path, and the agent could create."""
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        words = command.split()
    top = real_path(workspace)
    for word in words:
        try:
            path = top / expand_home(word)
            if (path.is_file() or (may_come and "/" in word and not path.exists())) and top in (
                real_path(path.parent) / path.name
            ).parents:
                return path
        except (OSError, ValueError):  # not a path
            continue
    return None
