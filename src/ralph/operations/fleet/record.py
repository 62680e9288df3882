"""The record of a job, fetched from the git remote: what a person looks at is what the next worker would continue with."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters import trees
from ralph.adapters.files import make_private_folder, real_path
from ralph.adapters.git import Git
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.seats.directories import make_plain_directory
from ralph.adapters.seats.record import STATE
from ralph.adapters.seats.remote import Remote, unattended
from ralph.adapters.storage.places import RUNS
from ralph.adapters.storage.portable import unpack
from ralph.adapters.storage.shift_consoles import kept_consoles
from ralph.config.root import STATE_FOLDER
from ralph.errors import GitFailed

if TYPE_CHECKING:
    from ralph.domain.fleet.job import JobSpec

_REF = "refs/ralph/record"


class RecordCopy:
    """The record of a job as files here, until it is closed. What one look has fetched, the next does not fetch again."""

    def __init__(self, job: JobSpec) -> None:
        self._job = job
        self._folder = real_path(Path(tempfile.mkdtemp(prefix="ralph-record-")))
        self._commit = ""
        self.state: Path | None = None  # a state folder; None: nobody has worked on the job yet

    def refresh(self) -> bool:
        """Whether it has moved. Raises ServiceAway and ServiceRefused if the repository cannot be read from here."""
        return asyncio.run(self._refresh())

    def close(self) -> None:
        trees.remove_tree(self._folder)

    async def _refresh(self) -> bool:
        job = self._job
        own = OwnPrograms(os.environ, [Path.cwd()])
        runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
        asking = Git(self._folder, runner, is_top=True, environment=unattended())
        commit = (await Remote(asking, job.repository).ask([job.record])).get(job.record, "")
        if commit == self._commit:
            return False
        directory, packed = self._folder / "git", self._folder / "packed"
        state = self._folder / STATE_FOLDER
        for old in (packed, state):
            trees.remove_tree(old)
        self.state = None
        if commit:
            if not directory.exists():
                make_plain_directory(directory, like=commit)
            make_private_folder(packed)
            places = {"GIT_DIR": str(directory), "GIT_WORK_TREE": str(packed)}
            git = Git(packed, runner, environment={**unattended(), **places})
            refspec = f"+{job.record}:{_REF}"
            await Remote(git, job.repository).fetch(refspec, options=("--no-tags", "--depth=1"))
            if await self._write_files(git):
                unpack(packed, state)
                self.state = state
        self._commit = commit
        return True

    async def _write_files(self, git: Git) -> bool:
        """The packed record, as plain files."""
        if not (await git.run("rev-parse", "--verify", "--quiet", f"{_REF}:{STATE}")).ok:
            return False  # somebody has taken the job, and its first session is under way
        await git.must("read-tree", f"{_REF}:{STATE}")
        # Links of a record that somebody made up stay texts.
        ran = await git.run("checkout-index", "--all", configuration=("core.symlinks=false",))
        if not ran.ok:
            message = f"the record of job {self._job.id} cannot be unpacked: {ran.why}"
            raise GitFailed(message, hint="is there space in the folder for temporary files?")
        return True


@contextmanager
def fetched_record(job: JobSpec) -> Iterator[Path | None]:
    """A state folder, for as long as it is looked at; None: nobody has worked on the job yet. Raises as ``RecordCopy`` does."""
    with closing(RecordCopy(job)) as copy:
        copy.refresh()
        yield copy.state


class ConsoleReader:
    """What a job's sessions have printed, as far as it is on record."""

    def __init__(self) -> None:
        self._copy: RecordCopy | None = None
        self._turn = -1  # the newest that was read

    def read(self, job: JobSpec) -> list[tuple[int, list[str]]]:
        """The lines of each session that was not read before. Raises as ``RecordCopy`` does."""
        self._copy = self._copy or RecordCopy(job)
        if not self._copy.refresh() or self._copy.state is None:
            return []
        state = self._copy.state
        found = kept_consoles(state / RUNS, top=state, after=self._turn)
        self._turn = max((turn for turn, _ in found), default=self._turn)
        return found

    def close(self) -> None:
        if self._copy is not None:
            self._copy.close()
            self._copy = None
