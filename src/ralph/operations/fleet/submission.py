"""What a person submits to the fleet: a command, the tasks of a file, or tickets; each becomes a job."""

from __future__ import annotations

import getpass
import json
import secrets
import socket
import time
from collections.abc import Collection, Sequence
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from ralph import __version__
from ralph.domain.fleet.address import Refusal, short_name
from ralph.domain.fleet.board import JobAsk, no_worker, possible_asks
from ralph.domain.fleet.earlier_job import refusal_of_earlier
from ralph.domain.fleet.job import USUAL_PRIORITY, JobSpec
from ralph.domain.fleet.job_names import refusal_of_labels, refusal_of_name
from ralph.domain.fleet.job_size import refusal_of_size
from ralph.domain.text.masking import mask_text, mask_values
from ralph.domain.text.safe_text import clean_line, is_text
from ralph.errors import UsageError
from ralph.operations.task_files import definition
from ralph.values import dataclass, replace

if TYPE_CHECKING:
    from ralph.domain.fleet.views import JobView
    from ralph.domain.tasks.task import Task
    from ralph.engine.fleet.ports import Fleet

_LONGEST_TITLE = 100
_NOT_HERE = "it would be on the server: let the workers have it, in their environment or a login of their own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all jobs of a submission have in common. ``name``: of the job, or what the names of several begin with."""

    repository: str
    base: str = ""
    labels: tuple[str, ...] = ()
    priority: int = USUAL_PRIORITY
    name: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """``known``: were submitted before, and are as they were then. Of these, ``done`` are completed, and ``over`` have
    ended before that."""

    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    over: tuple[str, ...] = ()

    @property
    def live(self) -> tuple[str, ...]:
        return tuple(name for name in (*self.new, *self.known) if name not in (*self.done, *self.over))


def command_job(terms: Terms, words: Sequence[str], *, title: str = "") -> JobSpec:
    """Raises UsageError."""
    shown = mask_values(list(words))
    if shown != list(words):
        message = f"there is a secret in the command: {clean_line(' '.join(map(str, _strings(shown))))}"
        raise UsageError(message, hint=_NOT_HERE)
    name = terms.name or f"{short_name(terms.repository)}-{secrets.token_hex(3)}"
    return _checked(replace(_job(terms, name), command=tuple(words), title=title[:_LONGEST_TITLE]))


def task_jobs(terms: Terms, tasks: Sequence[Task], flags: Sequence[str] = ()) -> list[JobSpec]:
    """One for each task, with names that follow from those of the tasks: whoever submits the same file makes the same jobs.
    ``flags``: of `ralph work`. Raises UsageError."""
    prefix = terms.name or short_name(terms.repository)
    named = {task.id: task for task in tasks}
    needs = {task.id: [one for one in task.dependencies if one in named] for task in tasks}
    # Whoever needs a job finds it on the server, also if nobody gets to submit the rest.
    order = TopologicalSorter(needs).static_order()
    return [
        _checked(
            replace(
                _job(terms, f"{prefix}-{name}"),
                command=tuple(flags),
                task=_entry(named[name]),
                title=clean_line(named[name].title)[:_LONGEST_TITLE],
                needs=tuple(f"{prefix}-{needed}" for needed in needs[name]),
                feeds=tuple(f"{prefix}-{other}" for other, needed in needs.items() if name in needed),
            )
        )
        for name in order
    ]


async def submit(fleet: Fleet, jobs: Sequence[JobSpec], *, records: Collection[str] = ()) -> Submitted:
    """``records``: those that the repository has already. Raises UsageError if another job has a name already; those before it
    are submitted then."""
    for job in jobs:
        if job.record in records and not await _is_known(fleet, job.id):
            _require(refusal_of_earlier(job))
    new: list[str] = []
    known: list[JobView] = []
    for job in jobs:
        if await fleet.submit(job):
            new.append(job.id)
            continue
        if _asked(await fleet.spec(job.id)) != _asked(job):
            told = f"; {', '.join(new)} {'was' if len(new) == 1 else 'were'} submitted" if new else ""
            message = f"there is another job {job.id} already, which asks for something else{told}"
            raise UsageError(message, hint="give --name, or look at it: `ralph fleet show JOB`")
        known.append(await fleet.job(job.id))
    over = [job.spec.id for job in known if JobAsk.RETRY in possible_asks(job)]
    done = [job.spec.id for job in known if not job.is_open and job.spec.id not in over]
    names = tuple(job.spec.id for job in known)
    return Submitted(new=tuple(new), known=names, done=tuple(done), over=tuple(over))


async def missing_workers(fleet: Fleet, labels: Sequence[str]) -> str:
    """What to say if nobody is there who would take such a job now; empty: somebody is."""
    return "" if await fleet.workers(labels) else no_worker(labels)


async def _is_known(fleet: Fleet, name: str) -> bool:
    try:
        await fleet.job(name)
    except UsageError:
        return False
    return True


def _job(terms: Terms, name: str) -> JobSpec:
    return JobSpec(
        id=name,
        repository=terms.repository,
        base=terms.base,
        labels=tuple(sorted(set(terms.labels))),
        priority=terms.priority,
        agent=terms.agent,
        submitted_at=time.time(),
        submitted_by=_who(),
        submission=secrets.token_hex(8),
        version=__version__,
    )


def _checked(job: JobSpec) -> JobSpec:
    for refusal in (refusal_of_name(job.id), refusal_of_labels(job.labels)):
        _require(refusal)
    if not all(map(is_text, job.command)):
        message = "the command is not UTF-8 text"
        raise UsageError(message, hint="put the prompt into a file of the repository")
    _require(refusal_of_size(job))
    return job


def _require(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise UsageError(clean_line(refusal.message), hint=refusal.hint)


def _entry(task: Task) -> str:
    """As a task file has it; what it depends on is kept by the fleet. Raises UsageError."""
    entry = {key: value for key, value in definition(task).items() if key != "dependencies"}
    text = json.dumps(entry, ensure_ascii=False)
    if mask_text(text) != text:
        message = f"there is a secret in task {clean_line(task.id)}"
        raise UsageError(message, hint=_NOT_HERE)
    return text


def _asked(job: JobSpec) -> tuple[object, ...]:
    return job.repository, job.base, job.command, job.task


def _strings(values: object) -> list[object]:
    return values if isinstance(values, list) else []


def _who() -> str:
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):  # an id without a name
        return socket.gethostname()
