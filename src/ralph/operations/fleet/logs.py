"""The console of a job: what is on record, then what its session says while it happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from ralph.domain.fleet.board import JobState, state_of
from ralph.domain.fleet.console import Place, news_of
from ralph.domain.text.figures import plural
from ralph.errors import RalphError, ServiceAway
from ralph.operations.fleet.jobs import EVERY, find_job, line_of, newest_beat
from ralph.operations.fleet.record import ConsoleReader

if TYPE_CHECKING:
    from ralph.domain.fleet.views import JobView
    from ralph.operations.fleet.desk import FleetDesk


_TALKING = (JobState.RUNNING, JobState.MERGING)


class JobLog:
    """Gives lines as they come. ``complain``: for what is not the job's own word: lines that were missed, a server that is away."""

    def __init__(self, desk: FleetDesk, name: str, *, complain: Callable[[str], None]) -> None:
        self._desk, self._name = desk, name
        self._complain = complain
        self._record = ConsoleReader()
        self._is_readable = True
        self._turn = -1  # of the job, when its record was read last
        self._place = Place()
        self._told = ""

    def read(self) -> Iterator[list[str]]:
        """What there is now. Raises RalphError if nothing can be read."""
        with closing(self._record):
            job = find_job(self._desk, self._name)
            yield self._news_of_record(job)
            yield self._news_of_session(job)

    def follow(self) -> Iterator[list[str]]:
        """Until the job has ended."""
        with closing(self._record):
            yield from self._follow()

    def _follow(self) -> Iterator[list[str]]:
        is_away = False
        while True:
            try:
                job = find_job(self._desk, self._name)
                if job.progress.turn != self._turn or not job.is_open:
                    yield self._news_of_record(job)
                yield self._news_of_session(job)
                self._say_state(job)
                if is_away:
                    self._complain("the server is back")
                is_away = False
            except ServiceAway as error:
                if self._turn < 0:  # it was never there
                    raise
                if not is_away:
                    self._complain(f"{error.message}; still waiting")
                is_away = True
            else:
                if not job.is_open:
                    self._complain(line_of(job))
                    return
            time.sleep(EVERY)

    def _say_state(self, job: JobView) -> None:
        """Why nothing is printed, once."""
        if not job.is_open:
            return
        told = "" if state_of(job) in _TALKING else line_of(job)
        if told and told != self._told:
            self._complain(told)
        self._told = told

    def _news_of_record(self, job: JobView) -> list[str]:
        """What sessions that have ended printed, but for what was shown while it happened."""
        self._turn = job.progress.turn
        if not self._is_readable or job.sealed:
            return []
        try:
            consoles = self._record.read(job.spec)
        except RalphError as error:
            self._is_readable = False
            self._complain(f"the job's record cannot be read from here: {error.message}")
            return []
        place = self._place
        return [line for turn, lines in consoles for line in lines[place.line if turn == place.turn else 0 :]]

    def _news_of_session(self, job: JobView) -> list[str]:
        beat = newest_beat(self._desk, job.spec.id) if job.is_open else None
        if beat is None or beat.turn < self._turn:
            return []
        news = news_of(beat, self._place)
        if news.begins and self._place.turn == beat.turn and news.lines:
            self._complain(f"the session begins again, on {beat.worker or 'another worker'}")
        if news.missed:
            self._complain(f"{plural(news.missed, 'line')} missed; the job's record will have them")
        self._place = news.place
        return list(news.lines)
