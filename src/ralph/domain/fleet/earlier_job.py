"""A record on the remote that another job of the same name has left there: it is neither continued nor overwritten."""

from __future__ import annotations

import shlex
from contextlib import suppress
from datetime import UTC, datetime

from ralph.domain.fleet.address import Refusal
from ralph.domain.fleet.job import JobSpec
from ralph.domain.trust.pushed_to import without_login


def refusal_of_earlier(job: JobSpec, *, submitted_at: float = 0.0, has_branch: bool = True) -> Refusal:
    """``submitted_at``: when the other one was, if that is known."""
    where = without_login(job.repository)
    refs = [job.record, *([f"refs/heads/{job.branch}"] if has_branch else [])]
    command = f"git push {shlex.quote(where)} --delete {shlex.join(refs)}"
    return Refusal(
        f"{where} has the record of another job {job.id}{_when(submitted_at)}, and this one is not its continuation",
        f"submit it under another --name; or, if nobody needs the other's record and branch any more: `{command}`",
    )


def _when(at: float) -> str:
    with suppress(ValueError, OverflowError, OSError):
        return f", submitted on {datetime.fromtimestamp(at, UTC):%Y-%m-%d at %H:%M} UTC" if at > 0 else ""
    return ""
