"""One job: what is known of it, and the lines of its session as they come."""

from __future__ import annotations

import asyncio

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Footer, Static

from ralph.domain.fleet.board import iterations_of, reason_of, title_of
from ralph.domain.fleet.console import News, Place, news_of
from ralph.domain.fleet.shift import Beat
from ralph.domain.fleet.views import JobView
from ralph.domain.text.figures import duration, money, plural, whole_duration
from ralph.domain.views.decisions import Tone, describe_iteration
from ralph.domain.views.iterations import IterationView
from ralph.errors import RalphError, UsageError
from ralph.interfaces.tui.columns import job_age, job_spent, job_state
from ralph.interfaces.tui.job_keys import JobKeys, Now
from ralph.interfaces.tui.lines import Kind, Line, bounded
from ralph.interfaces.tui.marks import DIM, line
from ralph.interfaces.tui.stream_view import StreamView
from ralph.operations.fleet.watch import FleetWatch

_STYLES = {Tone.GOOD: "good", Tone.BAD: "bad", Tone.WARNING: "warn", Tone.QUIET: "dim"}


class JobScreen(JobKeys):
    def __init__(self, fleet: FleetWatch, now: Now, job: JobView) -> None:
        super().__init__(fleet, now)
        self._job = job
        self._beat: Beat | None = None
        self._place = Place()
        self._problem = ""
        self._is_over = False  # it has ended, and its record was asked for

    def compose(self) -> ComposeResult:
        yield Static(id="job-head")
        yield StreamView(id="console")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._lines_view.focus()
        if self._job.is_open:
            log = f"`ralph fleet logs {line(self._job.spec.id)}` prints its whole log"
            self._tell(f"the lines of its session appear here as they come; {log}")
        self._show()
        self.run_worker(self._keep_following())

    @property
    def _lines_view(self) -> StreamView:
        return self.query_one("#console", StreamView)

    @property
    def current(self) -> JobView:
        return self._job

    async def _keep_following(self) -> None:
        while True:
            try:
                look = await self.fleet.follow(self._job.spec.id)
            except UsageError:
                self._problem = "it is gone from the server; what was read so far is still shown"
            except RalphError as error:
                self._problem = f"{error.message}. {error.hint}" if error.hint else error.message
            else:
                self._job, self._beat, self._problem = look.job, look.beat, ""
            if self.can_show:
                if self._beat is not None:
                    self._hear(news_of(self._beat, self._place), self._beat)
                self._show()
                if not self._job.is_open and not self._is_over:
                    self._tell("it has ended; reading its record …")
                    self.run_worker(self._read_past())
                self._is_over = not self._job.is_open
            await asyncio.sleep(self.fleet.follow_pace)

    async def _read_past(self) -> None:
        """What is on record of a job that has ended, in the place of what was heard of it."""
        try:
            past = await self.fleet.past(self._job)
        except RalphError as error:
            if self.can_show:
                self._tell(f"its record cannot be read from here: {error.message}")
            return
        if not self.can_show or self._job.is_open:
            return
        self._lines_view.clear()
        missed = [_missed(past.left_out)] if past.left_out else []
        self._lines_view.add([*missed, *(Line(Kind.WORDS, "text", bounded(text)) for text in past.lines)])
        self._lines_view.add([Line(Kind.LOOP, "rule", plural(len(past.iterations), "iteration"))])
        self._lines_view.add([_judged(each) for each in past.iterations])

    def _tell(self, words: str) -> None:
        self._lines_view.add([Line(Kind.LOOP, "dim", bounded(words), indent=2)])

    def _hear(self, news: News, beat: Beat) -> None:
        self._place = news.place
        lines: list[Line] = []
        if news.begins:
            where = f", on {line(beat.worker)}" if beat.worker else ""
            lines.append(Line(Kind.LOOP, "rule", f"iteration {beat.iteration}{where}"))
        if news.missed:
            lines.append(_missed(news.missed))
        lines += (Line(Kind.WORDS, "text", bounded(text)) for text in news.lines)
        self._lines_view.add(lines)

    def _show(self) -> None:
        rows = (self._who(), self._how_far(), self._where(), self._why())
        self.query_one("#job-head", Static).update(Content("\n").join(rows))

    def _who(self) -> Content:
        job, title = self._job, title_of(self._job)
        return Content.assemble(
            " ", job_state(job).stylize("bold"), (f"  {line(job.spec.id)}", "bold"), (f"  {line(title)}", DIM)
        )

    def _how_far(self) -> Content:
        job, beat = self._job, self._beat
        count = f"{beat.iteration}, under way" if beat is not None else iterations_of(job)
        session = f" + {money(beat.cost)}" if beat is not None and beat.cost else ""
        return Content.assemble(
            (" iteration ", DIM),
            (count, "bold"),
            ("  spent ", DIM),
            (job_spent(job) + session, "bold"),
            ("  worker ", DIM),
            line(job.progress.worker) or "-",
            ("  since ", DIM),
            job_age(job, self.now()),
        )

    def _where(self) -> Content:
        spec, last = self._job.spec, self._job.progress.last
        at = f" at {line(last.commit[:12])}" if last.commit else ""
        return Content.styled(f" {line(spec.repository)}  {line(spec.branch)}{at}", DIM)

    def _why(self) -> Content:
        if self._problem:
            return Content.styled(f" ! {line(self._problem)}", "bold $text-error")
        job = self._job
        left = job.progress.until - self.now() if job.is_open and job.progress.until else 0.0
        more = f" · {whole_duration(left)} left" if left > 0 else ""
        return Content(f" {line(reason_of(job))}{more}")


def _missed(count: int) -> Line:
    return Line(Kind.LOOP, "dim", f"… {plural(count, 'line')} before these; the whole log has them")


def _judged(each: IterationView) -> Line:
    wording = describe_iteration(each)
    number = f"{each.iteration}.{each.attempt}" if each.attempt > 1 else str(each.iteration)
    cost = each.spend.cost_usd
    facts = [each.step, duration(each.seconds) if each.seconds else "", "" if cost is None else money(cost)]
    why = each.fault or each.reason
    head = f"{number:>4}  {wording.words}"
    about = ", ".join(filter(None, facts))
    text = head + (f" ({about})" if about else "") + (f": {why}" if why else "")
    return Line(Kind.LOOP, _STYLES.get(wording.tone, "text"), bounded(text), indent=6)
