"""The fleet on the page: one look at it for everyone who watches, and the console of each job that somebody has open."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from itertools import islice
from typing import Any

from ralph.domain.fleet.board import (
    FleetLook,
    Group,
    cost_of,
    describe_job,
    group_of,
    iterations_of,
    needs_person,
    possible_asks,
    reason_of,
    since_of,
    state_of,
    title_of,
    tokens_of,
    total_of,
)
from ralph.domain.fleet.console import Place, news_of
from ralph.domain.fleet.shift import Beat
from ralph.domain.fleet.views import JobView
from ralph.domain.views.pull_request import link_of
from ralph.errors import RalphError, UsageError
from ralph.interfaces.web.hub import BREATH, RETRY, encode, frame, is_seen
from ralph.interfaces.web.page_data import iteration_data, line
from ralph.operations.fleet.past import JobPast
from ralph.operations.fleet.watch import FleetWatch, JobLook

MOST_LINES = 2_000
"""Of one job's console, for those who open it later."""
MOST_CONSOLES = 50
LONGEST_LINE = 2_000


class FleetHub:
    """Looks at the fleet only while someone watches."""

    def __init__(self, watch: FleetWatch) -> None:
        self.watch = watch
        self._all = _Shared(watch.pace, self._look)
        self._jobs: dict[str, _Console] = {}
        self._closing = asyncio.Event()

    def end(self) -> None:
        """Ends every stream: the server stops."""
        self._closing.set()

    def close(self) -> None:
        self.watch.close()

    async def _look(self) -> bytes:
        return encode(fleet_data(await self.watch.look()))

    async def state(self) -> bytes:
        return await self._all.get()

    async def stream(self) -> AsyncIterator[bytes]:
        """Server-sent events: the fleet, whenever it is another one."""
        sent = b""
        while not self._closing.is_set():
            state = await self._all.get()
            if state != sent:
                sent = state
                yield frame("fleet", state)
            await self._rest(self.watch.pace)

    # --- one job ---

    async def job(self, job_id: str) -> dict[str, Any]:
        """Raises RalphError."""
        return job_detail(await self.watch.follow(job_id))

    async def past(self, job_id: str) -> dict[str, Any]:
        """Raises RalphError."""
        return past_data(await self.watch.past((await self.watch.follow(job_id)).job))

    async def job_stream(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Its facts, and the lines of its session as they come, each with a number; those after ``after`` only."""
        console = self._console(job_id)
        yield b"retry: %d\n\n" % RETRY
        sent = {"job": b"", "state": b""}
        silent = 0.0
        while not self._closing.is_set():
            problem: dict[str, str] = {}
            told = sent["job"]
            try:
                told = await console.facts.get()
            except UsageError:
                yield frame("gone", b"{}")
                return
            except RalphError as error:
                problem = {"problem": error.message, "hint": error.hint}
            frames = b"".join(
                frame(name, data)
                for name, data in (("state", encode(problem)), ("job", told))
                if data != sent[name]
            )
            sent = {"state": encode(problem), "job": told}
            lines, after = console.after(after)
            frames += lines
            if frames or silent >= BREATH:
                silent = 0.0
                yield frames or b": still here\n\n"
            silent += self.watch.follow_pace
            await self._rest(self.watch.follow_pace)

    def _console(self, job_id: str) -> _Console:
        """Kept for a while: a reader whose line broke comes back."""
        console = self._jobs.pop(job_id, None) or _Console(self.watch, job_id)
        self._jobs[job_id] = console
        for oldest in list(islice(self._jobs, max(0, len(self._jobs) - MOST_CONSOLES))):
            del self._jobs[oldest]
        return console

    async def _rest(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return


class _Shared:
    """One answer for all who ask within ``seconds`` of each other."""

    def __init__(self, seconds: float, question: Callable[[], Coroutine[Any, Any, bytes]]) -> None:
        self._seconds = seconds
        self._question = question
        self._task: asyncio.Task[bytes] | None = None
        self._asked_at = 0.0

    async def get(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if self._task is None or (self._task.done() and now - self._asked_at >= 0.9 * self._seconds):
            self._asked_at = now
            self._task = asyncio.create_task(self._question())
            self._task.add_done_callback(is_seen)
        return await asyncio.shield(self._task)


class _Console:
    """The lines of one job, numbered from 1 as they were heard here."""

    def __init__(self, watch: FleetWatch, job_id: str) -> None:
        self._watch = watch
        self._id = job_id
        self._place = Place()
        self._lines: deque[dict[str, Any]] = deque(maxlen=MOST_LINES)
        self._count = 0
        self.facts = _Shared(watch.follow_pace, self._hear)

    async def _hear(self) -> bytes:
        look = await self._watch.follow(self._id)
        if look.beat is not None:
            self._take(look.beat)
        return encode(job_detail(look))

    def _take(self, beat: Beat) -> None:
        news = news_of(beat, self._place)
        self._place = news.place
        if news.begins:
            words = f"on {beat.worker}" if beat.worker else "a session"
            self._add({"kind": "session", "text": line(f"iteration {beat.iteration}, {words}")})
        if news.missed:
            self._add({"kind": "missed", "count": news.missed})
        for text in news.lines:
            self._add({"text": line(text[:LONGEST_LINE])})

    def _add(self, told: dict[str, Any]) -> None:
        self._count += 1
        self._lines.append(told)

    def after(self, number: int) -> tuple[bytes, int]:
        """The lines after that one as a frame, and the number of the last; all for a reader of another count."""
        if number > self._count:
            number = 0
        first = self._count - len(self._lines)
        new = list(islice(self._lines, max(0, number - first), None))
        if not new:
            return b"", number
        data = encode({"lines": new})
        return b"id: %d\nevent: lines\ndata: %b\n\n" % (self._count, data), self._count


async def together(*streams: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Several streams in one connection: a browser opens only a few. Ends with the first of them."""
    waiting = {asyncio.ensure_future(anext(each)): each for each in streams}
    try:
        while True:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                each = waiting.pop(task)
                try:
                    yield task.result()
                except StopAsyncIteration:
                    return
                waiting[asyncio.ensure_future(anext(each))] = each
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


# --- plain data, foreign text made harmless ---


def fleet_data(look: FleetLook) -> dict[str, Any]:
    totals = total_of(look.jobs)
    return {
        "jobs": [job_data(job) for job in look.jobs],
        "counts": {group.name.lower(): totals.counts[group] for group in Group},
        "cost": totals.cost,
        "tokens": totals.tokens,
        "isRead": look.is_read,
        "seenAt": int(look.seen_at) if look.problem else 0,
        "problem": line(look.problem),
        "hint": line(look.hint),
    }


def job_data(job: JobView) -> dict[str, Any]:
    """What a row of the table shows."""
    wording = describe_job(job)
    return {
        "id": line(job.spec.id),
        "title": line(title_of(job)),
        "repository": line(job.spec.repository),
        "labels": [line(label) for label in job.spec.labels],
        "state": state_of(job).value,
        "words": wording.words,
        "tone": wording.tone.value,
        "group": group_of(job).name.lower(),
        "needsYou": needs_person(job),
        "isOpen": job.is_open,
        "iterations": iterations_of(job),
        "cost": cost_of(job),
        "tokens": tokens_of(job),
        "worker": line(job.progress.worker),
        "since": int(since_of(job)),
        "until": job.progress.until if job.is_open else 0,
        "reason": line(reason_of(job)),
    }


def job_detail(look: JobLook) -> dict[str, Any]:
    """What the job's own page shows."""
    job, progress = look.job, look.job.progress
    spec, last = job.spec, progress.last
    facts = {
        "Repository": spec.repository,
        "Base": spec.base,
        "Branch": spec.branch,
        "Commit": last.commit[:12],
        "Merged as": last.merged[:12],
        "Run": last.run_id,
        "Command": " ".join(spec.command),
        "Labels": ", ".join(spec.labels),
        "Needs": ", ".join(spec.needs),
        "Submitted by": spec.submitted_by,
        "Last decision": last.decision,
        "Sessions lost": str(progress.lost_shifts or ""),
    }
    return job_data(job) | {
        "can": [ask.value for ask in possible_asks(job)],
        "startedAt": int(job.started_at),
        "priority": spec.priority,
        "address": link_of(spec.repository),
        "hint": line(last.hint) if not job.is_open else "",
        "notes": [line(note.text) for note in progress.notes],
        "facts": [[name, line(value)] for name, value in facts.items() if value],
        "now": None if look.beat is None else _beat_data(look.beat),
    }


def past_data(past: JobPast) -> dict[str, Any]:
    """What a job that has ended leaves to read."""
    missed = [{"kind": "missed", "count": past.left_out}] if past.left_out else []
    return {
        "iterations": [iteration_data(each, live=False) for each in past.iterations],
        "lines": [*missed, *({"text": line(text[:LONGEST_LINE])} for text in past.lines)],
    }


def _beat_data(beat: Beat) -> dict[str, Any]:
    return {
        "worker": line(beat.worker),
        "iteration": beat.iteration,
        "cost": beat.cost,
        "tokens": beat.tokens,
    }
