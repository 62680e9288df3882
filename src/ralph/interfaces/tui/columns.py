"""What the tables of runs, stories and iterations show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.content import Content

from ralph.domain.fleet import board as fleet_board
from ralph.domain.fleet.views import JobView
from ralph.domain.loop.evidence import Verdict
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import age, compact, duration, money
from ralph.domain.views.board import Card
from ralph.domain.views.decisions import UNDER_WAY, describe_iteration
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.overview import ProjectSummary, Wait
from ralph.domain.views.runs import TreeRow, branch
from ralph.interfaces.tui.marks import (
    DIM,
    JOB_MARKS,
    STATE_MARKS,
    TONE_MARKS,
    TONE_STYLES,
    dim,
    line,
    reason_line,
    sparkline,
    verdict_mark,
)
from ralph.interfaces.tui.table import Column

Now = Callable[[], float]
MOST_MARKS = 8


def styled(text: str, style: str = "") -> Content:
    return Content.styled(text, style) if style else Content(text)


# --- runs ---


def run_columns(now: Now) -> Sequence[Column[TreeRow]]:
    return (
        Column("run", 24, lambda row: Content.assemble((branch(row.last), DIM), line(row.run.id))),
        Column("state", 15, _run_state),
        Column("iter", 7, _run_iterations, rank=1, right=True),
        Column("spent", 9, _run_cost, rank=1, right=True),
        Column("what", 0, lambda row: Content(line(f"{row.run.task} {row.run.title}".strip()))),
        Column("last check", 20, _run_check, rank=4),
        Column("active", 8, lambda row: dim(age(now() - row.run.active_at)), rank=3),
        Column("agent", 10, lambda row: Content(line(row.run.agent)), rank=6),
        Column("profile", 10, lambda row: Content(line(row.run.profile)), rank=5),
        Column("why", 30, lambda row: dim(reason_line(row.run)), rank=3),
    )


def _run_state(row: TreeRow) -> Content:
    mark, style = STATE_MARKS[row.run.state]
    return styled(f"{mark} {row.run.state.words}", style)


def _run_iterations(row: TreeRow) -> Content:
    run = row.run
    return Content(f"{run.iteration}/{run.maximum}" if run.maximum else str(run.iteration))


def _run_cost(row: TreeRow) -> Content:
    run = row.run
    if run.cost_usd is None:
        return dim(f"{compact(run.tokens)} t" if run.tokens else "-")
    return Content(("≥" if run.cost_is_partial else "") + money(run.cost_usd))


def _run_check(row: TreeRow) -> Content:
    check = row.run.last_check
    if check is None:
        return dim("-")
    mark, style = verdict_mark(check.verdict)
    return styled(f"{mark} {line(check_words(check.name))}", style)


# --- several projects ---


def wait_columns(names: Mapping[str, str], now: Now) -> Sequence[Column[Wait]]:
    """``names``: of the projects, by their keys."""
    return (
        Column("waits for you", 24, _wait_state),
        Column("project", 14, lambda wait: Content(line(names.get(wait.project, "")))),
        Column("what", 0, lambda wait: Content(line(wait.title))),
        Column("why", 40, lambda wait: dim(line(wait.reason)), rank=1),
        Column("since", 8, lambda wait: dim(age(now() - wait.at) if wait.at else "-"), rank=2),
    )


def _wait_state(wait: Wait) -> Content:
    return styled(f"{TONE_MARKS[wait.tone]} {line(wait.words)}", TONE_STYLES[wait.tone])


def project_columns() -> Sequence[Column[ProjectSummary]]:
    return (
        Column("project", 24, lambda each: Content(line(each.look.name))),
        Column("under way", 9, lambda each: _count(each.totals.live, "$text-success"), right=True),
        Column("waiting", 7, lambda each: _count(each.waiting, "$text-warning"), right=True),
        Column("ready", 5, lambda each: _count(each.ready), rank=1, right=True),
        Column("spent", 9, lambda each: _project_cost(each), right=True),
        Column("runs", 5, lambda each: _count(each.totals.runs), rank=2, right=True),
        Column("where", 0, _project_place, rank=1),
    )


def _count(number: int, style: str = "") -> Content:
    return styled(str(number), style) if number else dim("-")


def _project_cost(each: ProjectSummary) -> Content:
    totals = each.totals
    if totals.cost_usd is None:
        return dim("-")
    return Content(("≥" if totals.is_partial else "") + money(totals.cost_usd))


def _project_place(each: ProjectSummary) -> Content:
    if each.look.problem:
        return styled(line(each.look.problem), "$text-error")
    return dim(line(each.look.place))


# --- the fleet ---


def job_columns(now: Now) -> Sequence[Column[JobView]]:
    return (
        Column("job", 22, lambda job: Content(line(job.spec.id))),
        Column("state", 16, job_state),
        Column("iter", 6, lambda job: Content(fleet_board.iterations_of(job)), rank=1, right=True),
        Column("spent", 8, lambda job: Content(job_spent(job)), rank=4, right=True),
        Column("worker", 10, lambda job: Content(line(job.progress.worker) or "-"), rank=2),
        Column("since", 7, lambda job: dim(job_age(job, now())), rank=3),
        Column("why", 0, lambda job: dim(line(fleet_board.reason_of(job)))),
        Column("what", 30, lambda job: Content(line(fleet_board.title_of(job))), rank=5),
    )


def job_state(job: JobView) -> Content:
    mark, style = JOB_MARKS[fleet_board.state_of(job)]
    return styled(f"{mark} {fleet_board.describe_job(job).words}", style)


def job_spent(job: JobView) -> str:
    cost, tokens = fleet_board.cost_of(job), fleet_board.tokens_of(job)
    if cost is None:
        return f"{compact(tokens)} t" if tokens else "-"
    return money(cost)


def job_age(job: JobView, now: float) -> str:
    since = fleet_board.since_of(job)
    return age(now - since) if since else "-"


# --- the plan ---

_REVIEWS = {
    "todo": ("☐ to do", DIM),
    "needs_review": ("◔ needs review", "$text-primary"),
    "changes_requested": ("↩ changes", "$text-warning"),
    "approved": ("✔ approved", "$text-success"),
}
_PASSES = {True: ("yes", "$text-success"), False: ("no", DIM)}


def story_columns() -> Sequence[Column[Card]]:
    return (
        Column("#", 3, lambda card: dim(str(card.priority)), rank=3, right=True),
        Column("story", 10, lambda card: Content(line(card.id))),
        Column(
            "review", 15, lambda card: styled(*_REVIEWS.get(card.lane, (line(card.lane), "$text-warning")))
        ),
        Column("passes", 6, lambda card: styled(*_PASSES[card.status == "passes"]), rank=1),
        Column("rounds", 6, lambda card: Content(str(card.rounds or "-")), rank=2, right=True),
        Column("title", 0, _story_title),
    )


def _story_title(card: Card) -> Content:
    note = f"  ↩ {line(card.note)}" if card.note and card.lane == "changes_requested" else ""
    return Content.assemble(line(card.title), (note, "$text-warning"))


# --- iterations ---


class IterationColumns:
    """Bars are drawn in proportion to the greatest value of all iterations."""

    def __init__(self) -> None:
        self._most_cost = 0.0
        self._most_seconds = 0.0
        self._is_live = False

    def measure(self, iterations: Sequence[IterationView], *, live: bool) -> None:
        self._is_live = live
        self._most_cost = max((each.spend.cost_usd or 0.0 for each in iterations), default=0.0)
        self._most_seconds = max((each.seconds for each in iterations), default=0.0)

    def columns(self) -> Sequence[Column[IterationView]]:
        return (
            Column("#", 5, _number, right=True),
            Column("decision", 12, lambda each: _decision(each, live=self._is_live)),
            Column("checks", 9, _checks),
            Column("claim", 7, _claim, rank=4),
            Column("role", 9, lambda each: dim(line(each.role) or "-"), rank=5),
            Column("cost", 9, self._cost, rank=1, right=True),
            Column("time", 9, self._time, rank=2, right=True),
            Column("tools", 6, _tools, rank=6, right=True),
            Column("why", 0, _why, rank=3),
        )

    def _cost(self, each: IterationView) -> Content:
        cost = each.spend.cost_usd
        if cost is None:
            return dim("-")
        return Content.assemble(f"{money(cost)} ", (_height(cost, self._most_cost), "$text-warning"))

    def _time(self, each: IterationView) -> Content:
        if not each.seconds:
            return dim("-")
        height = _height(each.seconds, self._most_seconds)
        return Content.assemble(f"{duration(each.seconds)} ", (height, "$text-primary"))


def _number(each: IterationView) -> Content:
    return Content(f"{each.iteration}" + (f".{each.attempt}" if each.attempt > 1 else ""))


def _height(value: float, most: float) -> str:
    return sparkline([value, most], 2)[0]


def _decision(each: IterationView, *, live: bool) -> Content:
    wording = describe_iteration(each, live=live)
    sign = "● " if wording is UNDER_WAY else ""
    return styled(f"{sign}{line(wording.words)}", TONE_STYLES[wording.tone])


def _checks(each: IterationView) -> Content:
    if not each.checks:
        return dim("-")
    # Red must not hide behind green.
    ordered = sorted(each.checks, key=lambda check: check.verdict is Verdict.PASSED)
    marks = [("■", verdict_mark(check.verdict.value)[1]) for check in ordered[:MOST_MARKS]]
    more = "+" if len(each.checks) > MOST_MARKS else ""
    return Content.assemble(*marks, more)


def _claim(each: IterationView) -> Content:
    if not each.claimed and not each.claims:
        return dim("-")
    if each.denied:
        return styled("denied", "$text-error")
    return styled("proven" if each.proven else "claims", "$text-success" if each.proven else "$text-warning")


def _tools(each: IterationView) -> Content:
    failed = (f" {each.tool_errors}✘", "$text-error") if each.tool_errors else ""
    return Content.assemble(str(each.tools), failed)


def _why(each: IterationView) -> Content:
    return styled(line(each.fault or each.reason), "$text-error" if each.fault else DIM)
