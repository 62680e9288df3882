"""Keys that ask something of a job; the same as for runs. The fleet decides; the screen repeats its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from ralph.domain.fleet.board import DONE, JobAsk, describe_job, possible_asks
from ralph.domain.fleet.views import JobView
from ralph.domain.text.safe_text import clean_line
from ralph.errors import RalphError
from ralph.interfaces.tui.dialogs import HELP_OF_FLEET, HelpDialog, Question, SteerDialog
from ralph.interfaces.tui.speech import complain, say
from ralph.operations.fleet.watch import FleetWatch

Now = Callable[[], float]


class JobKeys(Screen[None]):
    """A screen on which one job is meant: the one under the cursor, or the one that is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("s", "steer", "Steer"),
        Binding("p", "ask('pause')", "Pause"),
        Binding("u", "ask('unpause')", "Continue", show=False),
        Binding("x", "stop", "Stop"),
        Binding("r", "ask('retry')", "Retry"),
        Binding("escape", "back", "Back"),
    ]

    def __init__(self, fleet: FleetWatch, now: Now) -> None:
        super().__init__()
        self.fleet = fleet
        self.now = now
        self._has_views = False

    def on_mount(self) -> None:
        self._has_views = True

    def on_unmount(self) -> None:
        self._has_views = False

    @property
    def can_show(self) -> bool:
        """Not before its views exist, nor once it was left: they are removed some time before the screen itself."""
        is_open = self in self.app.screen_stack
        return self._has_views and is_open and self.is_attached and self.app.is_running

    @property
    def current(self) -> JobView | None:
        """What the keys are about. Each screen says; where no job is shown, there is none."""
        return None

    def action_back(self) -> None:
        self.dismiss()

    def action_help(self) -> None:
        self.app.push_screen(HelpDialog(HELP_OF_FLEET))

    def action_ask(self, request: str) -> None:
        asked = JobAsk(request)
        if job := self._may(asked):
            self._send(job.spec.id, asked)

    def action_steer(self) -> None:
        job = self._may(JobAsk.STEER)
        if job is None:
            return
        name = job.spec.id

        def after(text: str | None) -> None:
            if text and text.strip():
                self._send(name, JobAsk.STEER, text)

        self.app.push_screen(SteerDialog(clean_line(name)), after)

    def action_stop(self) -> None:
        job = self._may(JobAsk.STOP)
        if job is None:
            return
        name = job.spec.id

        def after(answer: str | None) -> None:
            if answer:
                self._send(name, JobAsk(answer))

        answers = {JobAsk.STOP.value: "After this step", JobAsk.STOP_NOW.value: "Now", "": "No"}
        self.app.push_screen(Question(f"Stop job {clean_line(name)}?", answers), after)

    def _may(self, asked: JobAsk) -> JobView | None:
        """The job that is meant, if that may be asked of it; else says why not."""
        job = self.current
        if job is None:
            say(self, "no job is selected")
            return None
        if asked in possible_asks(job):
            return job
        more = "; r continues it" if JobAsk.RETRY in possible_asks(job) else ""
        say(self, f"job {job.spec.id} is {describe_job(job).words}{more}")
        return None

    def _send(self, job_id: str, asked: JobAsk, text: str = "") -> None:
        async def do() -> None:
            try:
                await self.fleet.ask(job_id, asked, text)
            except RalphError as error:
                complain(self, error)
            else:
                say(self, f"{job_id}: {DONE[asked]}")

        self.run_worker(do())
