"""Archiving a plan: it is put away with a summary, replaced by a new one, and committed."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.documents import plan_archive
from ralph.adapters.documents.plan_archive import ARCHIVE, MOVED
from ralph.adapters.files import write_atomic
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.plan_repository import GitPlanRepository
from ralph.config.root import git_top
from ralph.operations.plans import Plan, without_a_run
from ralph.wiring.plan_memory import forget_unjudged


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPlan:
    """``earlier``: only an archive that could not be committed before was committed now.

    ``commit_error``: why git did not commit it; ``unreadable``: runs whose memory of the plan was set aside.
    """

    folder: str
    done: int = 0
    total: int = 0
    unreadable: Sequence[str] = ()
    in_repository: bool = True
    commit_error: str = ""
    earlier: bool = False


def archive_plan(plan: Plan, *, label: str | None) -> ArchivedPlan:
    """Put the plan away with a summary, start a new one, and commit. Raises UsageError if there is nothing to archive."""
    root = plan.root.workspace
    in_repository = git_top(root) is not None
    unreadable: list[str] = []
    with without_a_run(plan.root):
        try:
            archived = plan_archive.archive_plan(
                root.resolve(),
                plan.path,
                label=label,
                date=time.strftime("%Y-%m-%d"),
                write=write_atomic,
                then=lambda: unreadable.extend(forget_unjudged(plan.state_folder, plan.path)),
            )
        except plan_archive.NothingToArchive:
            if in_repository and (left := asyncio.run(_commit_left(root, plan.name))) is not None:
                return left
            raise
        folder = archived.folder.relative_to(root.resolve()).as_posix()
        error = asyncio.run(_commit(root, archived.paths, archived.folder.name)) if in_repository else ""
    return ArchivedPlan(
        folder=folder,
        done=archived.done,
        total=archived.total,
        unreadable=unreadable,
        in_repository=in_repository,
        commit_error=error,
    )


async def _commit_left(root: Path, plan_name: str) -> ArchivedPlan | None:
    """The archive that an earlier command could not commit, committed now; None: there is none."""
    with _repository(root) as repository:
        left = (await repository.state()).uncommitted
    archived = [path for path in left if path.startswith(f"{ARCHIVE}/") and path.count("/") > 1]
    if not archived:
        return None
    name = archived[-1].split("/")[1]
    error = await _commit(root, [*archived, *(f"{plan_name}/{file}" for file in MOVED)], name)
    return ArchivedPlan(folder=f"{ARCHIVE}/{name}", commit_error=error, earlier=True)


async def _commit(root: Path, paths: Sequence[str], name: str) -> str:
    with _repository(root) as repository:
        return await repository.commit(paths, f"chore: archive the plan {name}")


@contextmanager
def _repository(root: Path) -> Iterator[GitPlanRepository]:
    runner = PosixProcessRunner(run_id="plan-archive", base_environment=os.environ)
    with tempfile.TemporaryDirectory(prefix="ralph-") as aside:
        yield GitPlanRepository(root, runner, aside=Path(aside))
