"""What a worker prints: a line for each thing that happens, as text or JSON, and on a terminal a live line below."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import asdict
from typing import TextIO

from ralph.domain.fleet.board import describe_next
from ralph.domain.fleet.worker_news import (
    ClonesRemoved,
    JobUnreadable,
    NamesakeSeen,
    ServerBack,
    ServerLost,
    ShiftBegan,
    ShiftEnded,
    ShiftLost,
    WorkerLeaving,
    WorkerNews,
    WorkerReady,
)
from ralph.domain.text.figures import plural, whole_duration
from ralph.domain.text.masking import mask_text
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import describe_decision
from ralph.interfaces.cli.terminal import detect_look, fit, terminal_width

ERASE = "\r\x1b[2K"
DRAW_EVERY = 1.0


class WorkerConsole:
    """Talk goes to ``err``, JSON to ``out``."""

    def __init__(self, out: TextIO, err: TextIO, *, as_json: bool) -> None:
        self._out, self._err, self._as_json = out, err, as_json
        self._is_live = not as_json and detect_look(err).live
        self._began: dict[str, float] = {}
        self._slots = 0
        self._is_drawn = False

    @property
    def is_ready(self) -> bool:
        return self._slots > 0

    def tell(self, news: WorkerNews) -> None:
        self._note(news)
        if self._as_json:
            print(json.dumps({"at": time.time(), **asdict(news)}), file=self._out, flush=True)
            return
        self.clear()
        for line in lines_of(news):
            print(f"{time.strftime('%H:%M:%S')} {mask_text(clean_line(line))}", file=self._err, flush=True)

    def _note(self, news: WorkerNews) -> None:
        match news:
            case WorkerReady():
                self._slots = news.slots
            case ShiftBegan():
                self._began[news.job] = time.monotonic()
            case ShiftEnded() | ShiftLost():
                self._began.pop(news.job, None)
            case _:
                pass

    # --- the live line ---

    async def keep_drawing(self) -> None:
        while self._is_live:
            await asyncio.sleep(DRAW_EVERY)
            if self._slots:
                self._err.write(f"{ERASE}{fit(self._status(), terminal_width(self._err) - 1)}")
                self._err.flush()
                self._is_drawn = True

    def clear(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._err.write(ERASE)
            self._err.flush()

    def _status(self) -> str:
        now = time.monotonic()
        jobs = [f"{clean_line(job)} {whole_duration(now - began)}" for job, began in self._began.items()]
        return f"{len(jobs)} of {self._slots} at work" + "".join(f" · {job}" for job in jobs)


def lines_of(news: WorkerNews) -> list[str]:
    match news:
        case WorkerReady():
            labels = f", labels {', '.join(news.labels)}" if news.labels else ""
            return [
                f"worker {news.worker}, ralph {news.version}: {plural(news.slots, 'session')} at a time{labels}",
                f"  server   {news.address}, namespace {news.namespace}",
                f"  sandbox  {news.sandbox}",
                f"  clones   {news.home}",
            ]
        case ShiftBegan():
            return [f"{news.job}: {'started' if not news.turn else 'continued'}"]
        case ShiftEnded():
            return [f"{news.job}: {_how(news)} ({whole_duration(news.seconds)})"]
        case ShiftLost():
            hint = [f"  {news.hint}"] if news.hint else []
            return [
                f"{news.job}: given up after {whole_duration(news.seconds)}, nothing was pushed: {news.reason}",
                *hint,
            ]
        case ServerLost():
            return [f"the server cannot be reached ({news.reason}); sessions under way continue"]
        case ServerBack():
            return [f"the server is back after {whole_duration(news.seconds)}"]
        case NamesakeSeen():
            ago = whole_duration(news.seconds)
            return [
                f"a worker called {news.worker} asked for work {ago} ago",
                "  if that was not this one before a restart, give one of them another --name",
            ]
        case JobUnreadable():
            return [
                f"{news.job}: cannot be read here: it is {news.reason}",
                "  it waits for a worker that has its key; `ralph fleet stop` ends it",
            ]
        case ClonesRemoved():
            return [f"removed {plural(news.count, 'clone')} of jobs that have ended"]
        case WorkerLeaving(now=True):
            return ["ending the sessions now; other workers do them again"]
        case WorkerLeaving():
            if not news.sessions:
                return ["no more jobs are taken"]
            return [
                f"no more jobs are taken; {plural(news.sessions, 'session')} to finish first; again to end now"
            ]


def _how(news: ShiftEnded) -> str:
    decided = describe_decision(news.decision).words if news.decision else ""
    iteration = f"iteration {news.iteration} {decided}".rstrip() if news.iteration else ""
    words = ", ".join(filter(None, (iteration, describe_next(news.next)))) or "nothing was done"
    return f"{words}: {news.reason}" if news.reason else words
