"""One line at the bottom of a terminal: silence must not look like a hang."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, TextIO

from ralph.domain.agent.events import ToolStarted
from ralph.domain.agent.quota import AgentQuota
from ralph.domain.loop.events import (
    ActionEnded,
    ActionStarted,
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    PullRequestSeen,
    QuotaSeen,
    RunEnded,
    RunPaused,
    RunUnpaused,
    StopRequested,
)
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import money, plural, whole_duration
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import stage_count
from ralph.domain.views.quota import quota_line
from ralph.interfaces.cli.console.outlet import Outlet
from ralph.interfaces.cli.terminal import Look, Timestamps, colors_of, fit, marks_of, terminal_width

if TYPE_CHECKING:
    from ralph.domain.views.pull_request import PullRequestView

ERASE = "\r\x1b[2K"


class StatusLine:
    """Drawn only by ``tick``, every half second or so, and erased before anything else is written: a flood of output
    costs one erasure per tick. ``held`` while the cursor is inside a line.
    """

    def __init__(
        self,
        err: TextIO,
        look: Look,
        *,
        now: Callable[[], float] = time.time,
        width: Callable[[], int] | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self._outlet = Outlet(err)
        self._live = look.live
        self._now = now
        self._marks = marks_of(look)
        self._colors = colors_of(look)
        self._width = width if width is not None else lambda: terminal_width(err, look.width)
        self._timestamps = Timestamps(zone)
        self._drawn = ""
        self._disturbed = False
        self.held = False
        self._stopping = ""
        self._is_paused = False  # by the user; it takes effect between two sessions
        self._iteration = ""
        self._iteration_at = 0.0
        self._is_between = True
        self._step = ""
        self._step_at = 0.0
        self._agent_active = False
        self._active_at = 0.0
        self._paused_until: float | None = None
        self._tools = 0
        self._cost: float | None = None
        self._quota: AgentQuota | None = None
        self._pull: PullRequestView | None = None  # that it waits for
        self._pull_at = 0.0

    def observe(self, event: LoopEvent, at: float) -> None:
        """Take the event into account; writes nothing."""
        if not self._live:
            return
        match event:
            case AgentActed():
                self._active_at = at
                for acted in event.events:
                    if type(acted) is ToolStarted:
                        self._tools += 1
            case IterationStarted():
                self._iteration = f"iteration {event.iteration}" + (
                    f"/{event.maximum}" if event.maximum else ""
                )
                if event.role and event.limit:  # a part of the work has a limit of its own
                    self._iteration = clean_line(stage_count(event.role, event.used, event.limit))
                self._iteration_at = at
                self._is_between = False
                self._pull = None
                self._begin("", at)
            case IterationEnded():
                self._is_between = True
                self._begin("", at)
            case AgentStarted():
                self._begin("" if event.purpose == "iteration" else clean_line(event.purpose), at)
                self._agent_active = True
                self._tools = 0
            case CheckStarted():
                what = "guardrail" if event.command else "check"
                self._begin(clean_line(f"{what} {check_words(event.name) or event.command}"), at)
            case ActionStarted():
                self._begin(clean_line(event.name), at)
            case PauseBegan():
                self._begin(clean_line(event.reason), at)
                self._paused_until = event.until
            case AgentEnded():
                self._begin("", at)
                if event.spend.cost_usd is not None:
                    self._cost = (self._cost or 0.0) + event.spend.cost_usd
            case CheckEnded() | ActionEnded():
                self._begin("", at)
            case RunPaused():
                self._is_paused = True
                if self._is_between and self._paused_until is None:
                    self._begin("", at)
            case RunUnpaused():
                self._is_paused = False
            case PullRequestSeen():
                self._await(event, at)
            case QuotaSeen():
                self._quota = AgentQuota(clean_line(event.agent), event.windows)
            case StopRequested():
                self._stopping = "stopping now" if event.now else "stopping after this step"
            case RunEnded():
                self._iteration = self._stopping = ""
                self._is_paused = False
                self._pull = None
                self._begin("", at)
            case _:
                pass

    def tick(self) -> None:
        """Draw, unless something else was written since the last tick."""
        if not self._live or self.held or self._outlet.is_behind:
            return
        if self._disturbed:
            self._disturbed = False
            return
        text = fit(self.text(), self._width() - 1, ellipsis=self._marks.more)
        if text and text != self._drawn:
            self._drawn = text
            self._outlet.write(f"{ERASE}{self._colors.dim}{text}{self._colors.off}")

    def clear(self) -> None:
        """Something else is about to be written."""
        self._disturbed = True
        if self._drawn:
            self._drawn = ""
            self._outlet.write(ERASE)

    def text(self) -> str:
        """The whole text; empty when there is nothing to wait for."""
        now = self._now()
        parts = [self._stopping]
        if self._is_paused and self._is_between and (self._paused_until or now) <= now:
            parts += [f"paused {whole_duration(now - self._step_at)}", "to continue: `ralph unpause`"]
        elif (pull := self._pull) is not None and self._waits_for(pull):
            parts += [clean_line(pull.said), pull.counts, whole_duration(now - self._pull_at)]
        elif self._paused_until is not None:
            until = self._timestamps.clock_time(self._paused_until, beside=now)
            left = whole_duration(self._paused_until - now)
            parts += [f"waiting until {until}", f"{left} left", self._step]
        elif not self._iteration:
            return ""
        else:
            parts.append(self._iteration)
            # The time comes first: a long command may be cut off.
            parts.append(whole_duration(now - (self._step_at if self._step else self._iteration_at)))
            parts.append(self._step)
            if self._is_paused:
                parts.append("pausing after this session")
            if self._agent_active:
                parts.append(f"last activity {whole_duration(now - self._active_at)} ago")
                if self._tools:
                    parts.append(plural(self._tools, "tool"))
        if self._cost is not None:
            parts.append(money(self._cost))
        if self._quota is not None:
            parts.append(quota_line(self._quota, now))
        return f"{self._marks.wait} " + f" {self._marks.dot} ".join(part for part in parts if part)

    def _waits_for(self, pull: PullRequestView) -> bool:
        """And for nothing else, such as a forge that must not be asked for a while."""
        return self._is_between and self._step in ("", clean_line(pull.reason))

    def _await(self, event: PullRequestSeen, at: float) -> None:
        from ralph.domain.views.pull_request import view_of  # few runs have one

        pull = view_of(event)
        if self._pull is None:
            self._pull_at = at
        self._pull = pull if pull.is_waiting else None
        self._begin("", at)

    def _begin(self, step: str, at: float) -> None:
        self._step, self._step_at, self._active_at = step, at, at
        self._agent_active = False
        self._paused_until = None
