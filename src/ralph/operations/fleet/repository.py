"""The repository that jobs are about, as far as it can be seen from here: workers have logins of their own."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from ralph.adapters.git import Git
from ralph.adapters.git_remotes import said_of
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.seats.directories import make_plain_directory
from ralph.adapters.seats.remote import FETCH, unattended
from ralph.adapters.trees import remove_tree
from ralph.domain.fleet.address import local_path, refusal_of
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.values import dataclass

_SEEN = "refs/ralph/seen"
PATIENCE = 20.0
"""Seconds for a remote that may not be reachable from here."""


def choose_repository(given: str, here: Path) -> str:
    """``given``, or where the project here is pushed to. Raises UsageError."""
    address = given or asyncio.run(_origin(here))
    if not address:
        message = "which repository? The project here has no remote `origin`"
        raise UsageError(message, hint="give --repo URL")
    if refusal := refusal_of(address):
        raise UsageError(refusal.message, hint=refusal.hint)
    return address


@dataclass(frozen=True, slots=True)
class Look:
    """``warning``: if it cannot be read from here. ``records``: refs of records that are there already, of those asked for."""

    warning: str = ""
    records: frozenset[str] = frozenset()


def look_at_repository(
    address: str, base: str, records: Sequence[str] = (), *, file: PurePath | None = None
) -> Look:
    """``file``: what a job reads there. Raises UsageError if it can be read from here, and there is no such branch or file."""
    path = local_path(address)
    if path and not Path(path).exists():
        message = f"there is no repository {clean_line(path)}"
        raise UsageError(message, hint="give an address, or a path that this machine and all workers have")
    return asyncio.run(_look(address, base, records, file))


def uncommitted(file: Path, here: Path) -> bool:
    """Whether a file is here, and not as it is in the newest commit: workers see another, or none."""
    return (here / file).exists() and asyncio.run(_is_uncommitted(file, here))


async def _origin(here: Path) -> str:
    ran = await _git(here).run("config", "--get", "remote.origin.url")
    return ran.text if ran.ok else ""


async def _is_uncommitted(file: Path, here: Path) -> bool:
    ran = await _git(here).run("status", "--porcelain", "--ignored", "--", str(file))
    return ran.ok and bool(ran.text)


async def _look(address: str, base: str, records: Sequence[str], file: PurePath | None) -> Look:
    # Not in the project: the settings of its own repository are not those of the workers' clones.
    folder = Path(tempfile.mkdtemp(prefix="ralph-look-"))
    try:
        ref = f"refs/heads/{base}" if base else "HEAD"
        ran = await _git(folder, is_top=True).run("ls-remote", "--", address, ref, *records, is_remote=True)
        if not ran.ok:
            why = said_of(ran) if ran.code is not None else "it does not answer"
            return Look(f"cannot read {clean_line(address)} from here ({why}); the workers must be able to")
        found = {name: commit for commit, _, name in (line.partition("\t") for line in ran.out.splitlines())}
        if ref in found:
            if file is not None and await _lacks(folder, address, ref, found[ref], file):
                message = f"{clean_line(address)} has no file {clean_line(str(file))} on {base or 'its default branch'}"
                raise UsageError(message, hint="commit and push it first; or give the text with `-f -`")
            return Look(records=frozenset(found.keys() & set(records)))
    finally:
        remove_tree(folder)
    if base:
        message = f"{clean_line(address)} has no branch {clean_line(base)}"
        raise UsageError(message, hint="push it first, or give another --base")
    message = f"{clean_line(address)} has no default branch: it is empty, or its HEAD names a branch that is not there"
    raise UsageError(message, hint="push a first commit, or give --base BRANCH")


async def _lacks(folder: Path, address: str, ref: str, commit: str, file: PurePath) -> bool:
    """Whether it is certain that the commit has no such file: its folders are fetched, and as little else as the host allows."""
    directory = folder / "git"
    make_plain_directory(directory, like=commit)
    git = _git(folder, is_top=True, environment={**unattended(), "GIT_DIR": str(directory)})
    little = ("--no-tags", "--depth=1", "--filter=blob:none")
    ran = await git.run(*FETCH, *little, "--", address, f"+{ref}:{_SEEN}", is_remote=True)
    if not ran.ok:
        return False
    listed = await git.run("ls-tree", "--name-only", _SEEN, "--", file.as_posix())
    return listed.ok and not listed.text


def _git(root: Path, *, is_top: bool = False, environment: Mapping[str, str] | None = None) -> Git:
    own = OwnPrograms(os.environ, [Path.cwd()])
    runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
    return Git(root, runner, is_top=is_top, seconds=PATIENCE, environment=environment or {})
