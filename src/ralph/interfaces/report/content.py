"""Everything a report says, gathered once for all formats."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from ralph.domain.loop.evidence import CheckResult
from ralph.domain.proof.policy import UNCHECKED
from ralph.domain.review.finding import Finding, Review
from ralph.domain.text.figures import plural
from ralph.domain.views.changes import Changes, combine_changes
from ralph.domain.views.iterations import Figures, IterationView, Note, figures_of
from ralph.domain.views.pull_request import PullRequestView
from ralph.domain.views.runs import RunLabel, RunState, RunView, is_newest
from ralph.errors import UsageError
from ralph.operations.reviews import find_review
from ralph.operations.runs.files import RunFiles
from ralph.operations.watch import Feed, changes_in, prompt_of
from ralph.values import dataclass, replace

ITERATIONS_SHOWN = 500
RUNS_LOOKED_AT = 50
PARTS_SHOWN = 100
PARTS_COMPARED = 20


class Part(NamedTuple):
    """A run that is a part of the one reported: a task of a `ralph work`, or a child."""

    run: RunView
    label: RunLabel
    iterations: tuple[IterationView, ...]
    pull_request: PullRequestView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    """``iterations`` are the newest ones; ``left_out`` says how many older ones there are."""

    run: RunView
    asked: str
    iterations: tuple[IterationView, ...]
    left_out: int
    removed_to: int = 0  # the last iteration whose files are gone, with those of all before it; 0: none
    notes: tuple[Note, ...]
    header: tuple[str, ...]  # what the run announced when it began
    concerns: tuple[str, ...]
    figures: Figures  # including the iterations of its parts
    at_start: tuple[CheckResult, ...] = ()  # what was found before the first session
    label: RunLabel = RunLabel()
    parts: tuple[Part, ...] = ()
    hint: str = ""  # what to do now
    state_folder: Path = Path()
    written_at: float = 0.0
    is_newest: bool = False  # no later run here
    changes: Changes = Changes()
    own_pulls: tuple[PullRequestView, ...] = ()  # a `ralph work` has one for each task
    review: Review | None = None  # what a `ralph review` answered

    @property
    def removal(self) -> str:
        """What to say of files that are gone; empty: none are."""
        if not self.removed_to:
            return ""
        those = "iteration 1" if self.removed_to == 1 else f"iterations 1 to {self.removed_to}"
        return f"The files of {those} are no longer here, except the first prompt (limits.keepIterations)."

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.review.findings if self.review is not None else ()

    @property
    def pull_requests(self) -> tuple[tuple[str, PullRequestView], ...]:
        """Its own, and those of its parts, each with the task that it is for."""
        own = (("", pull) for pull in self.own_pulls)
        of_parts = ((part.label.task or part.run.id, part.pull_request) for part in self.parts)
        return (*own, *((task, pull) for task, pull in of_parts if pull is not None))

    @property
    def verdict(self) -> str:
        """The state of the run in one sentence."""
        run = self.run
        match run.state:
            case RunState.COMPLETED if self.concerns:
                return "Completed, with concerns"
            case RunState.INTERRUPTED:
                return "Interrupted: its process ended before the run did"
            case RunState.RUNNING | RunState.PAUSED:
                return f"Under way: {run.state.value}"
            case _:
                return run.state.value.capitalize()

    @property
    def headline(self) -> str:
        """The verdict as people read it; JSON keeps the other."""
        match self.run.state:
            case RunState.EXHAUSTED:
                return self.run.state.words.capitalize()
            case RunState.COMPLETED if self.concerns:
                return f"Completed, with {plural(len(self.concerns), 'warning')}"
            case _:
                return self.verdict

    @property
    def elapsed(self) -> float:
        """Seconds from its start to its end, or until now; an interrupted run ends with its last sign of life."""
        over = self.written_at if self.run.live else self.run.ended_at or self.run.active_at
        return max(0.0, over - self.run.started_at)

    @property
    def count(self) -> str:
        """How many iterations it took."""
        if self.parts and not self.iterations:
            return f"{self.figures.judged} in {plural(len(self.parts), 'part')}"
        run = self.run
        return f"{run.iteration} of {run.maximum}" if run.maximum is not None else str(run.iteration)

    @property
    def last_checks(self) -> dict[str, CheckResult]:
        """The last result of each check, also if it was skipped."""
        every = (*(each for part in self.parts for each in part.iterations), *self.iterations)
        found = (check for each in every for check in each.checks)
        return {check.name: check for check in (*self.at_start, *found)}

    @property
    def unchecked(self) -> str:
        """What it means if nothing was checked; empty if something was."""
        if self.figures.check_rates:
            return ""
        if self.run.state is RunState.COMPLETED and (self.iterations or self.parts):
            return f"{UNCHECKED[0].upper()}{UNCHECKED[1:]}."
        return "No check was run."


def read_content(feed: Feed, run_id: str) -> ReportContent:
    """What the record knows, without git. Raises UsageError if there is no such run (any more)."""
    run = feed.run(run_id)
    if run is None:
        message = f"run {run_id} was removed in the meantime"
        raise UsageError(message)
    timeline = feed.timeline(run_id)
    iterations = tuple(timeline.iterations)
    concerns = run.concerns or (timeline.ended.concerns if timeline.ended is not None else ())
    parts = tuple(_part(feed, part) for part in feed.parts(run_id)[:PARTS_SHOWN])
    hint = timeline.ended.hint if timeline.ended is not None else ""
    if run.state is RunState.INTERRUPTED:
        hint = f"To continue: `ralph resume {run.id}`"
    return ReportContent(
        run=run,
        asked=prompt_of(feed.state_folder, iterations[0]) if iterations else "",
        iterations=iterations[-ITERATIONS_SHOWN:],
        left_out=max(0, len(iterations) - ITERATIONS_SHOWN),
        removed_to=RunFiles(feed.state_folder, run_id).removed_to() if iterations else 0,
        notes=tuple(timeline.notes),
        header=timeline.started.notes if timeline.started is not None else (),
        concerns=tuple(concerns),
        figures=figures_of([*(each for part in parts for each in part.iterations), *iterations]),
        at_start=timeline.at_start,
        label=feed.label(run_id),
        parts=parts,
        hint=hint,
        state_folder=feed.state_folder,
        written_at=time.time(),
        is_newest=is_newest(run, feed.runs(limit=RUNS_LOOKED_AT)),
        own_pulls=tuple(timeline.pull_requests.values()),
        review=find_review(feed.state_folder, run_id),
    )


def _part(feed: Feed, part: RunView) -> Part:
    timeline = feed.timeline(part.id)
    return Part(part, feed.label(part.id), tuple(timeline.iterations), timeline.pull_request)


async def with_changes(content: ReportContent) -> ReportContent:
    """With the changes that git reports. The work of a part that was not accepted is not in the project."""
    if content.parts and not content.iterations:
        taken = [part for part in content.parts if part.run.state is RunState.COMPLETED][:PARTS_COMPARED]
        found = [
            await changes_in(part.run.root, content.state_folder).of_run(part.iterations, newest=False)
            for part in taken
        ]
        changes = combine_changes(found) if found else Changes(note="none of its parts were completed")
    else:
        reader = changes_in(content.run.root, content.state_folder)
        changes = await reader.of_run(content.iterations, newest=content.is_newest)
    return replace(content, changes=changes)
