"""The repository that jobs are about, as far as it can be seen from here: workers have logins of their own."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from ralph.adapters.git import Git
from ralph.adapters.git_remotes import said_of
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.trees import remove_tree
from ralph.domain.fleet.address import refusal_of
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError

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


def look_at_repository(address: str, base: str) -> str:
    """What to warn of, if it cannot be read from here. Raises UsageError if it can be, and there is no such branch."""
    return asyncio.run(_look(address, base))


def uncommitted(file: Path, here: Path) -> bool:
    """Whether a file is here, and not as it is in the newest commit: workers see another, or none."""
    return (here / file).exists() and asyncio.run(_is_uncommitted(file, here))


async def _origin(here: Path) -> str:
    ran = await _git(here).run("config", "--get", "remote.origin.url")
    return ran.text if ran.ok else ""


async def _is_uncommitted(file: Path, here: Path) -> bool:
    ran = await _git(here).run("status", "--porcelain", "--ignored", "--", str(file))
    return ran.ok and bool(ran.text)


async def _look(address: str, base: str) -> str:
    # Not in the project: the settings of its own repository are not those of the workers' clones.
    folder = Path(tempfile.mkdtemp(prefix="ralph-look-"))
    try:
        ref = f"refs/heads/{base}" if base else "HEAD"
        ran = await _git(folder, is_top=True).run("ls-remote", "--", address, ref, is_remote=True)
    finally:
        remove_tree(folder)
    if not ran.ok:
        why = said_of(ran) if ran.code is not None else "it does not answer"
        return f"cannot read {clean_line(address)} from here ({why}); the workers must be able to"
    if ran.text:
        return ""
    if base:
        message = f"{clean_line(address)} has no branch {clean_line(base)}"
        raise UsageError(message, hint="push it first, or give another --base")
    message = f"{clean_line(address)} has no default branch: it is empty, or its HEAD names a branch that is not there"
    raise UsageError(message, hint="push a first commit, or give --base BRANCH")


def _git(root: Path, *, is_top: bool = False) -> Git:
    own = OwnPrograms(os.environ, [Path.cwd()])
    runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
    return Git(root, runner, is_top=is_top, seconds=PATIENCE)
