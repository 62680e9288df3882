"""The record of a job, fetched from the git remote: what a person looks at is what the next worker would continue with."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters import trees
from ralph.adapters.files import make_private_folder, real_path
from ralph.adapters.git import Git
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.shift_console import kept_consoles
from ralph.adapters.seats.directories import make_plain_directory
from ralph.adapters.seats.record import STATE
from ralph.adapters.seats.remote import Remote, unattended
from ralph.adapters.storage.places import RUNS
from ralph.adapters.storage.portable import unpack
from ralph.config.root import STATE_FOLDER
from ralph.errors import GitFailed

if TYPE_CHECKING:
    from ralph.domain.fleet.job import JobSpec

_REF = "refs/ralph/record"


@contextmanager
def fetched_record(job: JobSpec) -> Iterator[Path | None]:
    """A state folder, for as long as it is looked at; None: nobody has worked on the job yet.

    Raises ServiceAway and ServiceRefused if the repository cannot be read from here.
    """
    folder = real_path(Path(tempfile.mkdtemp(prefix="ralph-record-")))
    try:
        packed = asyncio.run(_fetch(job, folder))
        state = folder / STATE_FOLDER
        if packed is not None:
            unpack(packed, state)
        yield None if packed is None else state
    finally:
        trees.remove_tree(folder)


def read_console(job: JobSpec) -> list[str]:
    """What its sessions have printed, as far as it is on record. Raises as ``fetched_record`` does."""
    with fetched_record(job) as state:
        return [] if state is None else kept_consoles(state / RUNS, top=state)


async def _fetch(job: JobSpec, folder: Path) -> Path | None:
    """The packed record, as plain files."""
    own = OwnPrograms(os.environ, [Path.cwd()])
    runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
    asking = Git(folder, runner, is_top=True, environment=unattended())
    found = await Remote(asking, job.repository).ask([job.record])
    if job.record not in found:
        return None
    directory, packed = folder / "git", folder / "packed"
    make_plain_directory(directory, like=found[job.record])
    make_private_folder(packed)
    places = {"GIT_DIR": str(directory), "GIT_WORK_TREE": str(packed)}
    git = Git(packed, runner, environment={**unattended(), **places})
    await Remote(git, job.repository).fetch(f"+{job.record}:{_REF}", options=("--no-tags", "--depth=1"))
    if not (await git.run("rev-parse", "--verify", "--quiet", f"{_REF}:{STATE}")).ok:
        return None  # somebody has taken the job, and its first session is under way
    await git.must("read-tree", f"{_REF}:{STATE}")
    # Links of a record that somebody made up stay texts.
    ran = await git.run("checkout-index", "--all", configuration=("core.symlinks=false",))
    if not ran.ok:
        message = f"the record of job {job.id} cannot be unpacked: {ran.why}"
        raise GitFailed(message, hint="is there space in the folder for temporary files?")
    return packed
