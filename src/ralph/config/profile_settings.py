"""The settings of single profiles: ``profiles.<name>.*``."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.config.kinds import Choice, Limit, Number, Table, Text, Whole, YesNo, setting


@dataclass(frozen=True, slots=True)
class PromiseSettings:
    """`ralph run --profile promise`."""

    maximum_iterations: int = setting(Whole(minimum=1), 100, "Iterations after which a run gives up.")
    completion_promise: str = setting(
        Text(filled=True), "DONE", "What the agent says in `<promise>…</promise>` when the work is done."
    )


@dataclass(frozen=True, slots=True)
class SupervisedSettings:
    """`ralph supervise`."""

    max_restarts: int = setting(Whole(minimum=1), 100, "Launches of the agent in all.")
    restart_delay: float = setting(Number(), 1.0, "Seconds between two launches; 0: none.")
    wait_timeout: float = setting(
        Number(), 300.0, "Seconds to wait for child runs that are still active when the task is done."
    )
    poll_interval: float = setting(Number(), 1.0, "Seconds between two looks at the children, and at DONE.")
    agent_timeout: float | None = setting(
        Limit(), None, "Seconds after which one launch is ended and counts as failed; null: never."
    )
    done_grace: float = setting(
        Number(), 30.0, "Seconds the agent may go on after it has written DONE, before it is ended."
    )


@dataclass(frozen=True, slots=True)
class ReviewedSettings:
    """`ralph plan run`."""

    maximum_iterations: int = setting(Whole(minimum=1), 15, "Iterations after which a run gives up.")
    completion_promise: str = setting(
        Text(filled=True), "COMPLETE", "What the agent says in `<promise>…</promise>` when the plan is done."
    )
    plan_folder: str = setting(Text(filled=True), "ralph", "Where prd.md, tasks.json and the rest are.")
    skip_review: bool = setting(YesNo(), False, "Let stories pass without a review.")
    review_cap: int = setting(Whole(minimum=1), 5, "Reviews of one story before it is approved at the cap.")
    at_cap: str = setting(
        Choice("approve", "block"),
        "approve",
        "What happens to a story at the cap: approved with a concern, or the run ends and waits.",
    )


@dataclass(frozen=True, slots=True)
class ProfilesSettings:
    """Settings of single profiles."""

    promise: PromiseSettings = setting(Table(PromiseSettings), PromiseSettings(), "A prompt and a promise.")
    supervised: SupervisedSettings = setting(
        Table(SupervisedSettings), SupervisedSettings(), "A root agent that is restarted until it is done."
    )
    reviewed: ReviewedSettings = setting(
        Table(ReviewedSettings), ReviewedSettings(), "A plan whose stories are reviewed with fresh eyes."
    )
