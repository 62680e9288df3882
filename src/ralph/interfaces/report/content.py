"""Everything a report says, gathered once; the formats only write it down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.storage.feed import Feed
from ralph.domain.run_view import RunState, RunView
from ralph.engine.queries import Changes, Figures, IterationSummary, Note, figures_of
from ralph.errors import UsageError
from ralph.wiring.faces import changes_in, prompt_of

ITERATIONS_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    """``iterations`` are the newest ones; ``left_out`` says how many older ones there are."""

    run: RunView
    asked: str
    iterations: tuple[IterationSummary, ...]
    left_out: int
    notes: tuple[Note, ...]
    header: tuple[str, ...]  # what the run said about itself when it began
    concerns: tuple[str, ...]
    figures: Figures
    changes: Changes
    state_folder: Path

    @property
    def verdict(self) -> str:
        """One sentence: how it stands."""
        run = self.run
        match run.state:
            case RunState.COMPLETED if self.concerns:
                return "Completed, with concerns"
            case RunState.INTERRUPTED:
                return "Interrupted: its process is gone before it ended"
            case _:
                return run.state.value.capitalize()


async def gather(feed: Feed, run_id: str) -> ReportContent:
    """Raises UsageError if the run was removed meanwhile."""
    run = feed.run(run_id)
    if run is None:
        message = f"run {run_id} was removed meanwhile"
        raise UsageError(message)
    timeline = feed.timeline(run_id)
    iterations = timeline.iterations
    newest = max(feed.runs(limit=50), key=lambda each: each.started_at).id == run_id
    changes = await changes_in(run.root).of_run(iterations, newest=newest)
    concerns = run.concerns or (timeline.ended.concerns if timeline.ended is not None else ())
    return ReportContent(
        run=run,
        asked=prompt_of(feed.state_folder, iterations[0]) if iterations else "",
        iterations=tuple(iterations[-ITERATIONS_SHOWN:]),
        left_out=max(0, len(iterations) - ITERATIONS_SHOWN),
        notes=tuple(timeline.notes),
        header=timeline.started.notes if timeline.started is not None else (),
        concerns=tuple(concerns),
        figures=figures_of(iterations),
        changes=changes,
        state_folder=feed.state_folder,
    )
