"""Everything a report says, gathered once; the formats only write it down."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.adapters.storage.feed import Feed
from ralph.domain.run_view import RunState, RunView
from ralph.engine.changes import Changes
from ralph.engine.queries import Figures, IterationSummary, Note, figures_of, is_newest
from ralph.errors import UsageError
from ralph.wiring.faces import changes_in, prompt_of

ITERATIONS_SHOWN = 500
RUNS_LOOKED_AT = 50


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
    is_newest: bool = False  # nothing was run here since
    changes: Changes = Changes()

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


def recorded(feed: Feed, run_id: str) -> ReportContent:
    """What the record knows; git is asked afterwards. Raises UsageError if there is no such run (any more)."""
    run = feed.run(run_id)
    if run is None:
        message = f"run {run_id} was removed meanwhile"
        raise UsageError(message)
    timeline = feed.timeline(run_id)
    iterations = timeline.iterations
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
        is_newest=is_newest(run, feed.runs(limit=RUNS_LOOKED_AT)),
    )


async def with_changes(content: ReportContent) -> ReportContent:
    """With what git says was changed."""
    reader = changes_in(content.run.root)
    return replace(content, changes=await reader.of_run(content.iterations, newest=content.is_newest))
