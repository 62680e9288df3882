"""How much a job may say: the server keeps it in several places, tells it to each shift, and keeps every telling."""

from __future__ import annotations

import json

from ralph.domain.fleet.address import Refusal
from ralph.domain.fleet.job import JobSpec
from ralph.domain.text.safe_text import clean_line

LARGEST = 60_000
"""Bytes of its texts as JSON, which is how they travel."""


def refusal_of_size(job: JobSpec) -> Refusal | None:
    texts = (*job.command, job.task, job.title, job.repository, job.base, *job.needs, *job.feeds, *job.labels)
    size = len(json.dumps(texts))
    if size <= LARGEST:
        return None
    what = f"task {clean_line(job.title)}" if job.is_task else "the command"
    message = f"{what} is too large: {size:,} bytes, and a job may have {LARGEST:,}"
    return Refusal(message, "put what is long into a file of the repository, and name the file")
