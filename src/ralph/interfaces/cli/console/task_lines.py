"""One task of `ralph work`, for people: a line for each event that matters. ``--verbose`` shows all of its run instead."""

from __future__ import annotations

from typing import TextIO

from ralph.domain.loop.decision import DecisionKind
from ralph.domain.loop.events import (
    ActionStarted,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    RunEnded,
    RunStarted,
)
from ralph.domain.loop.evidence import CheckResult
from ralph.domain.loop.session_report import Ending
from ralph.domain.text.figures import totals
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import Tone, describe_decision, stage_count
from ralph.interfaces.cli.console.live_lines import PartLine
from ralph.interfaces.cli.console.run_view import Console
from ralph.interfaces.cli.terminal import Look


class TaskLines(Console):
    """``said``: notes that another part, or the whole, has told already; shared by all of them."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        look: Look,
        *,
        title: str,
        said: set[str],
        margin: int,
        status: PartLine | None = None,
    ) -> None:
        super().__init__(
            out,
            err,
            look,
            verbose=False,
            stream_agent_output=False,
            status=status,
            is_part=True,
            margin=margin,
        )
        self._title = title
        self._said = said
        self._stage = ""
        self._failing: list[CheckResult] = []
        for told_later in (AgentStarted, CheckStarted, ActionStarted, RunEnded):
            del self._renderers[told_later]

    def _run_started(self, event: RunStarted) -> list[str]:
        self._started = event
        new = [note for note in event.notes if note not in self._said]
        self._said.update(new)
        title = f"{self._colors.cyan}{self._marks.run}{self._colors.off} started: {clean_line(self._title)}"
        return [title, *(self._odd(clean_line(note)) for note in new)]

    def _iteration_started(self, event: IterationStarted) -> list[str]:
        self._failing = []
        self._stage = clean_line(stage_count(event.role, event.used, event.limit))
        again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
        return [f"{self._colors.cyan}{self._marks.run}{self._colors.off} {self._stage}{again}"]

    def _agent_ended(self, event: AgentEnded) -> list[str]:
        """Only trouble: what came of the session is told when it is judged."""
        is_orderly = event.fault is None and event.ending == Ending.EXITED and not event.exit_code
        return [] if is_orderly else super()._agent_ended(event)

    def _check_ended(self, event: CheckEnded) -> list[str]:
        if event.result.required and not event.result.holds and event.result.reason != "nothing was claimed":
            self._failing.append(event.result)
        return []

    def _claims_sought(self, event: ClaimsSought) -> list[str]:
        self._claims = event.found
        return []

    def _iteration_ended(self, event: IterationEnded) -> list[str]:
        wording = describe_decision(event.decision, self._claims)
        failing = self._failing if event.decision != DecisionKind.ACCEPT else []
        found = [one.reason.strip().partition("\n")[0] for one in failing]
        told = [reason for reason in found if reason and reason not in event.reason]
        why = f" ({'; '.join(told)})" if told else ""
        figures = totals(
            cost_usd=event.spend.cost_usd, at_least=event.spend.is_partly_unknown, seconds=event.seconds
        )
        words = f"{self._stage}: {wording.words}: {event.reason}{why} {self._marks.dot} {figures}"
        text = clean_line(words)
        self._decision_reason = event.reason
        match wording.tone:
            case Tone.GOOD:
                line = self._good(text)
            case Tone.BAD:
                line = self._bad(text)
            case _:
                line = self._odd(text, self._marks.again)
        return [line, *(trace for one in failing for trace in self._traces(one))]
