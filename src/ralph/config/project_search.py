"""Which folder is the project, and whose it must be: the rule of ``ralph`` and of its hooks.

Whoever can write a ``.ralph`` above a project, or in a folder that all may write, could otherwise choose what runs
there. Strings and ``os`` only: importing pathlib alone would cost a hook a quarter of its start.
"""
# ruff: noqa: PTH112, PTH113, PTH116, PTH117, PTH118, PTH120

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # importing `typing` costs a hook more than its work does
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STATE_FOLDER = ".ralph"
OBEYED = ("settings.json", "settings.local.json", "ralph.db", "ralph.db-wal", "state", "runs")
"""What is in the state folder and is believed."""
MOST_BYTES = 1_000_000


def climb(start: str, home: str = "") -> Iterator[str]:
    """The folders that may be the project: from ``start`` up to the top of its repository, the home directory, and a
    change of file system or owner."""
    me, folder, below = os.geteuid(), start, None
    while True:
        here = _stat(folder)
        if here is None:
            return
        if below is not None:
            is_ours = here.st_uid in (me, below.st_uid)
            if folder == home or here.st_dev != below.st_dev or not is_ours:
                return
        yield folder
        above = os.path.dirname(folder)
        if folder in (home, above) or is_repository(folder):
            return
        folder, below = above, here


def search(start: str, home: str) -> str:
    """The nearest folder with ``.ralph/``, else the top of the repository, else ``start``."""
    for folder in climb(start, home):
        has_state = os.path.isdir(os.path.join(folder, STATE_FOLDER))
        if has_state and (folder == start or not _is_planted(folder, STATE_FOLDER)):
            return folder
        if is_repository(folder):
            return folder
    return start


def is_repository(folder: str) -> bool:
    """``.git`` is a file (in a worktree or a submodule), or a folder with a HEAD; an empty folder is not one."""
    marker = os.path.join(folder, ".git")
    is_one = os.path.isfile(marker) or os.path.lexists(os.path.join(marker, "HEAD"))
    return is_one and not _is_planted(folder, ".git")


def _is_planted(folder: str, name: str) -> bool:
    """Neither ours nor of whoever owns the folder: anyone can put it into a folder like /tmp."""
    here, entry = _stat(folder), _lstat(os.path.join(folder, name))
    return here is None or entry is None or entry.st_uid not in (*trusted_owners(os.environ), here.st_uid)


# --- whose it is ---


def trusted_owners(environ: Mapping[str, str]) -> tuple[int, ...]:
    """We, and root, who can do anything anyway; for root also the user who called ``sudo``, as for git."""
    me, caller = os.geteuid(), environ.get("SUDO_UID", "")
    is_number = caller.isascii() and caller.isdigit() and len(caller) < 11
    return (me, 0, int(caller)) if me == 0 and is_number else (me, 0)


def stranger_in(folder: str, environ: Mapping[str, str]) -> tuple[str, int] | None:
    """What another user owns of that which would be believed in a project, and who; None if it may be believed.

    git's ``safe.directory`` in the user's own configuration names the folders of others that may be.
    """
    state = os.path.join(folder, STATE_FOLDER)
    owners = trusted_owners(environ)
    for path in (folder, state, *(os.path.join(state, name) for name in OBEYED)):
        for found in (_lstat(path), _stat(path)):  # a link, and what it leads to
            if found is not None and found.st_uid not in owners:
                return None if is_declared_safe(folder, environ) else (path, found.st_uid)
    return None


def is_declared_safe(folder: str, environ: Mapping[str, str]) -> bool:
    listed = [one for file in _git_configurations(environ) for one in _safe_directories(_read(file))]
    if "" in listed:  # an empty one takes back those before it
        listed = listed[len(listed) - listed[::-1].index("") :]
    return any(_covers(one, folder, environ) for one in listed)


def _covers(listed: str, folder: str, environ: Mapping[str, str]) -> bool:
    if listed == "*":
        return True
    if listed.startswith("~/"):
        listed = os.path.join(environ.get("HOME", ""), listed[2:])
    if listed.endswith("/*"):
        return folder.startswith(os.path.realpath(listed[:-2]).rstrip("/") + "/")
    return os.path.isabs(listed) and os.path.realpath(listed) == folder


def _git_configurations(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Those that no repository can write."""
    home = environ.get("HOME", "")
    systems = (environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"),)
    system = () if environ.get("GIT_CONFIG_NOSYSTEM") else systems
    if "GIT_CONFIG_GLOBAL" in environ:
        return (*system, environ["GIT_CONFIG_GLOBAL"])
    if not os.path.isabs(home):
        return system
    more = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return (*system, os.path.join(more, "git", "config"), os.path.join(home, ".gitconfig"))


def _safe_directories(text: str) -> Iterator[str]:
    """``directory`` of the section ``[safe]``; files that the configuration includes do not count."""
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            section, _, line = line[1:].partition("]")
        key, _, value = line.partition("=")
        if section.strip().lower() == "safe" and key.strip().lower() == "directory":
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] == '"'
            yield value[1:-1] if quoted else value.partition(" #")[0].partition(" ;")[0].rstrip()


# --- settings ---


def own_settings(environ: Mapping[str, str]) -> str:
    """The user's own settings, for all projects; empty if there is no place for them.

    A relative folder would be one of whatever project this is.
    """
    folder = environ.get("XDG_CONFIG_HOME", "")
    if not folder.startswith("/"):
        folder = f"{environ.get('HOME', '')}/.config"
    return f"{folder}/ralph/settings.json" if folder.startswith("/") else ""


# --- worktrees ---


def record_place(workspace: str) -> str:
    """Where a project keeps its state: in a worktree, at the same place in the main checkout. They all share one record."""
    top = next(filter(is_repository, climb(workspace)), None)
    main = main_checkout(top) if top is not None else None
    if top is None or main is None:
        return workspace
    return os.path.normpath(os.path.join(main, os.path.relpath(workspace, top)))


def main_checkout(top: str) -> str | None:
    """Of a worktree: its ``.git`` is a file, ``gitdir: <main checkout>/.git/worktrees/<name>``, and that names it back.

    None for anything else. Worktrees of a submodule or of a bare repository have no main checkout to find this way.
    """
    marker = os.path.join(top, ".git")
    key, _, target = _read(marker, follow=False).rstrip("\r\n").partition(": ")
    if key != "gitdir" or "\0" in target:
        return None
    git_dir = os.path.realpath(os.path.join(top, target))  # git keeps a space at its end, too
    worktrees = os.path.dirname(git_dir)
    if not worktrees.endswith("/.git/worktrees"):
        return None
    back = _read(os.path.join(git_dir, "gitdir"), follow=False).strip()
    if not back or "\0" in back:
        return None
    is_named = os.path.realpath(os.path.join(git_dir, back)) == os.path.realpath(marker)
    main = os.path.dirname(os.path.dirname(worktrees))
    return main if is_named and os.path.isdir(main) else None


# --- looking ---


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _read(path: str, *, follow: bool = True) -> str:
    """The text of a plain file; empty if it is none, or cannot be read. Nothing waits for a pipe."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return ""
    try:
        is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, MOST_BYTES).decode(errors="surrogateescape") if is_plain else ""
    finally:
        os.close(descriptor)
