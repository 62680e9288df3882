"""The fleet on a screen of its own: its jobs, what needs a person first; and the key that opens it from any application."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Footer, Input, Static

from ralph.domain.fleet.board import FleetLook, Group, group_of, has_text, total_of
from ralph.domain.fleet.views import JobView
from ralph.domain.text.figures import age, plural
from ralph.interfaces.tui.columns import job_columns
from ralph.interfaces.tui.job_keys import JobKeys, Now
from ralph.interfaces.tui.job_screen import JobScreen
from ralph.interfaces.tui.marks import dim, line
from ralph.interfaces.tui.speech import say
from ralph.interfaces.tui.table import Table
from ralph.operations.fleet.watch import FleetWatch

if TYPE_CHECKING:
    from textual.app import App

    _Base = App[None]
else:
    _Base = object

GROUPS = (None, *Group)


class FleetScreen(JobKeys):
    """Shows the looks that its application takes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "next_group", "View"),
        Binding("slash", "seek", "Filter", key_display="/"),
        Binding("F", "back", show=False),
    ]

    def __init__(self, fleet: FleetWatch, now: Now, look: FleetLook) -> None:
        super().__init__(fleet, now)
        self._look = look
        self._group: Group | None = None
        self._sought = ""

    def compose(self) -> ComposeResult:
        yield Static(id="totals")
        yield Table(job_columns(self.now), lambda job: job.spec.id, empty="", id="jobs")
        yield Input(placeholder="filter …", id="search")
        yield Static(id="status")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._table.focus()
        self.show(self._look)

    @property
    def _table(self) -> Table[JobView]:
        return self.query_one("#jobs", Table)

    @property
    def current(self) -> JobView | None:
        return self._table.current

    def show(self, look: FleetLook) -> None:
        self._look = look
        chosen = [job for job in look.jobs if self._group in (None, group_of(job))]
        self._table.empty = _empty(look)
        self._table.show([job for job in chosen if has_text(job, self._sought)])
        self.query_one("#totals", Static).update(_totals_line(look, self.now()))
        said = [f"only what {_only(self._group)}: v shows others"] if self._group else []
        if self._sought:
            said.append(f"filtered by “{line(self._sought)}”: press / to change it")
        self.query_one("#status", Static).update(Content(" · ".join(said)))

    def on_table_chosen(self, event: Table.Chosen) -> None:
        event.stop()
        if isinstance(event.row, JobView):
            self.app.push_screen(JobScreen(self.fleet, self.now, event.row))

    # --- choosing ---

    def action_next_group(self) -> None:
        self._group = GROUPS[(GROUPS.index(self._group) + 1) % len(GROUPS)]
        self.show(self._look)

    def action_seek(self) -> None:
        search = self.query_one("#search", Input)
        search.value = self._sought
        search.add_class("shown")
        search.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.has_class("shown"):
            self._sought = event.value
            self.show(self._look)

    def on_input_submitted(self) -> None:
        self._close_search()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self._close_search():
            event.stop()
            event.prevent_default()

    def _close_search(self) -> bool:
        search = self.query_one("#search", Input)
        if not search.has_class("shown"):
            return False
        search.remove_class("shown")
        self._table.focus()
        return True


def _only(group: Group) -> str:
    words = {
        Group.PERSON: "needs you",
        Group.RUNNING: "runs",
        Group.WAITING: "waits",
        Group.ENDED: "has ended",
    }
    return words[group]


def _empty(look: FleetLook) -> str:
    if not look.is_read:
        return "nothing is known of its jobs yet" if look.problem else "asking the fleet …"
    return "no job is like that" if look.jobs else "no jobs yet: `ralph fleet submit` hands one in"


def _totals_line(look: FleetLook, now: float) -> Content:
    totals = total_of(look.jobs)
    waiting = totals.counts[Group.PERSON]
    if look.problem:
        seen = f"; seen {age(now - look.seen_at)}" if look.is_read else ""
        hint = f" ({line(look.hint)})" if look.hint else ""
        second = Content.styled(f" ! {line(look.problem)}{hint}{seen}", "bold $text-error")
    elif waiting:
        second = Content.styled(f" {plural(waiting, 'job')} waiting for you", "bold $text-warning")
    else:
        second = Content.styled(" nothing waits for you", "$text-success") if look.is_read else dim("")
    first = Content.assemble((" Fleet", "bold"), f"  {plural(totals.jobs, 'job')}: {totals.words}")
    return Content("\n").join((first if look.is_read else Content.styled(" Fleet", "bold"), second))


class FleetHome(_Base):
    """Mixed into an application that can show the fleet: it looks every few seconds, and says when a person is needed."""

    fleet: FleetWatch | None
    fleet_look: FleetLook

    def take_fleet(self, fleet: FleetWatch | None) -> None:
        self.fleet, self.fleet_look = fleet, FleetLook()

    async def keep_looking_at_fleet(self) -> None:
        from asyncio import sleep

        while self.fleet is not None:
            look = await self.fleet.look()
            if self.is_running:
                self._take(look)
            await sleep(self.fleet.pace)

    def _take(self, look: FleetLook) -> None:
        before, now = (total_of(each.jobs).counts[Group.PERSON] for each in (self.fleet_look, look))
        self.fleet_look = look
        shown = [screen for screen in self.screen_stack if isinstance(screen, FleetScreen)]
        for screen in shown:
            if screen.can_show:
                screen.show(look)
        if now > before and not shown:
            say(self, f"the fleet: {total_of(look.jobs).words}; F shows it")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """On the fleet's screens, what this application does with runs is out of place."""
        if action == "fleet" and self.fleet is None:
            return False
        own = {each.action.partition("(")[0] for each in self.BINDINGS if isinstance(each, Binding)}
        if action in own - {"quit", "theme"} and any(isinstance(one, JobKeys) for one in self.screen_stack):
            return False
        return super().check_action(action, parameters)

    def open_fleet(self, now: Now) -> None:
        if self.fleet is not None:
            self.push_screen(FleetScreen(self.fleet, now, self.fleet_look))
