"""``.ralph-active``: what a run over a plan tells the hooks inside its sessions. Advice only: nothing here is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from ralph.domain.plan.stop_checks import snapshot_from_json, snapshot_json
from ralph.domain.plan.story import DEFAULT_REVIEW_CAP, IterationMode, ReviewRules, ReviewState
from ralph.values import dataclass

MARKER_FILE = ".ralph-active"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveMarker:
    """What the hooks of a session need to know. Without snapshot or mode, transitions go unchecked.

    ``uncommitted``: files that were uncommitted before the session, named from the top of the repository.
    """

    pid: int
    timestamp: str = ""
    max_iterations: int | None = None
    mode: str = "direct"  # or "sandbox"
    skip_review: bool = False
    review_cap: int = DEFAULT_REVIEW_CAP
    iteration_mode: IterationMode | None = None
    snapshot: Mapping[str, ReviewState] | None = None
    ralph_dir: str = "ralph"
    run_id: str = ""
    uncommitted: Sequence[str] = ()

    @property
    def rules(self) -> ReviewRules:
        return ReviewRules(self.review_cap, self.skip_review)

    def text(self) -> str:
        fields: dict[str, object] = {
            "timestamp": self.timestamp,
            "pid": self.pid,
            "max_iterations": self.max_iterations,
            "mode": self.mode,
            "skipReview": self.skip_review,
            "reviewCap": self.review_cap,
            "ralphDir": self.ralph_dir,
        }
        if self.run_id:
            fields["runId"] = self.run_id
        if self.uncommitted:
            fields["uncommittedBefore"] = list(self.uncommitted)
        if self.iteration_mode is not None:
            fields["iterationMode"] = self.iteration_mode.value
        if self.snapshot is not None:
            fields["preIterationSnapshot"] = snapshot_json(self.snapshot)
        return json.dumps(fields, indent=2) + "\n"


def active_marker_from(text: str) -> ActiveMarker | None:
    """None if it is no marker at all; fields that make no sense have their usual values."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not is_whole(fields.get("pid")) or fields["pid"] <= 0:
        return None
    cap, maximum, mode = fields.get("reviewCap"), fields.get("max_iterations"), fields.get("iterationMode")
    folder, run, before = fields.get("ralphDir"), fields.get("runId"), fields.get("uncommittedBefore")
    return ActiveMarker(
        pid=fields["pid"],
        timestamp=str(fields.get("timestamp", "")),
        max_iterations=maximum if is_whole(maximum) else None,
        mode=str(fields.get("mode", "direct")),
        skip_review=fields.get("skipReview") is True,
        review_cap=cap if is_whole(cap) and cap > 0 else DEFAULT_REVIEW_CAP,
        iteration_mode=IterationMode(mode) if mode in tuple(IterationMode) else None,
        snapshot=snapshot_from_json(fields.get("preIterationSnapshot")),
        ralph_dir=folder if isinstance(folder, str) and folder else "ralph",
        run_id=run if isinstance(run, str) else "",
        uncommitted=tuple(map(str, before)) if isinstance(before, list) else (),
    )


def is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
