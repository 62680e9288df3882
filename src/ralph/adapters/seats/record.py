"""The record of a job as it lies on the remote: ``job.json`` of a commit. It comes from elsewhere, so nothing in it is believed."""

from __future__ import annotations

from pathlib import PurePosixPath

from ralph.domain.fleet.earlier_job import refusal_of_earlier
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.job_names import refusal_of_name
from ralph.domain.fleet.shift import ShiftEnd
from ralph.engine.fleet.ports import OtherVersion
from ralph.errors import ServiceRefused, UsageError
from ralph.patterns import pattern
from ralph.values import dataclass

FORMAT = 1
FILE = "job.json"
STATE = "state"
WORK = "work"
MOST_BYTES = 10_000_000
MOST_REFS = 1_000
CARRIED = ("refs/heads/", "refs/ralph/", "refs/stash", "refs/notes/")
"""Refs of the clone that travel. Tags and what the remote had come with the clone."""
_ID = pattern(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_ODD = pattern(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[./]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeRecord:
    """``path``: below the project; empty: the project itself. ``branch``: a ref; empty: none is checked out.
    ``merging``: the commits of a merge under way. ``is_dirty``: ``work/<number>`` has what is not committed."""

    path: str = ""
    branch: str = ""
    head: str
    merging: tuple[str, ...] = ()
    is_dirty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """``holder``: the worker that may push. ``tip``: of the job's branch on the remote. ``end``: of the newest shift.
    ``submission`` and ``submitted_at``: of the job that it belongs to."""

    format: int = FORMAT
    submission: str = ""
    submitted_at: float = 0.0
    turn: int = 0
    holder: str = ""
    base: str = ""
    tip: str = ""
    refs: dict[str, str]
    worktrees: tuple[WorktreeRecord, ...] = ()
    end: ShiftEnd | None = None

    @classmethod
    def of(cls, job: JobSpec, base: str) -> JobRecord:
        """Of a job that nobody has worked on."""
        return cls(submission=job.submission, submitted_at=job.submitted_at, base=base, refs={})

    @property
    def tips(self) -> frozenset[str]:
        """All commits that it names."""
        heads = (id_ for one in self.worktrees for id_ in (one.head, *one.merging))
        return frozenset((*self.refs.values(), *heads))


def encode_record(record: JobRecord) -> bytes:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def decode_record(data: bytes, job: JobSpec) -> JobRecord:
    """Raises OtherVersion if a newer ralph wrote it, ServiceRefused if it is none."""
    import msgspec

    try:
        about = msgspec.json.decode(data)
        version = about.get("format") if isinstance(about, dict) else None
        if version != FORMAT and isinstance(version, int):
            message = f"the record of job {job.id} has format {version}, and this ralph knows {FORMAT}"
            raise OtherVersion(message, hint="update ralph on this worker; the job waits for one that fits")
        record = msgspec.json.decode(data, type=JobRecord)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise damaged(job, str(error)) from None
    if why := _problem(record):
        raise damaged(job, why)
    return record


def require_own_record(record: JobRecord, job: JobSpec, *, has_branch: bool) -> None:
    """Raises UsageError if another job of this name has left it."""
    if record.submission != job.submission:
        refusal = refusal_of_earlier(job, submitted_at=record.submitted_at, has_branch=has_branch)
        raise UsageError(refusal.message, hint=refusal.hint)


def damaged(job: JobSpec, why: str) -> ServiceRefused:
    message = f"the record of job {job.id} ({job.record}) is damaged: {why}"
    return ServiceRefused(message, hint="delete that ref on the remote and submit the job again")


def require_job_id(job: JobSpec) -> None:
    """Raises UsageError for an id that no folder or branch can have."""
    if refusal := refusal_of_name(job.id):
        raise UsageError(refusal.message, hint=refusal.hint)


def is_ref(name: str) -> bool:
    return name.startswith("refs/") and not _ODD.search(name) and name.isprintable()


def is_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def is_inside(path: str) -> bool:
    """Whether it leads below a project, and not into git's or ralph's own files, but for worktrees."""
    place = PurePosixPath(path)
    parts = place.parts
    is_odd = not parts or place.is_absolute() or str(place) != path or "\0" in path
    if is_odd or {"..", ".git"} & {part.lower() for part in parts}:
        return False
    return parts[0].lower() != ".ralph" or (len(parts) == 3 and parts[1] == "worktrees")


def _problem(record: JobRecord) -> str:
    heads = [id_ for one in record.worktrees for id_ in (one.head, *one.merging)]
    if not all(map(is_id, (*record.refs.values(), *heads, *filter(None, [record.tip])))):
        return "it names what is no commit"
    branches = [one.branch for one in record.worktrees if one.branch]
    if not all(map(is_ref, (*record.refs, *branches, *(f"refs/heads/{record.base}",)))):
        return "it names what cannot be a branch"
    if not all(name.startswith(CARRIED) for name in record.refs) or len(record.refs) > MOST_REFS:
        return "it names refs that do not travel"
    if any(branch not in record.refs for branch in branches):
        return "a worktree's branch is not in it"
    paths = [one.path for one in record.worktrees]
    if (paths and paths[0]) or len({*paths}) != len(paths) or not all(map(is_inside, paths[1:])):
        return "a worktree lies outside the project"
    return ""
