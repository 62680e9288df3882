"""Runs as people see them: state, choice, name, tree, and whether there is news of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from ralph.domain.proof.layer_names import LAYER_NAMES
from ralph.domain.proof.policy import ProofPolicy
from ralph.domain.views.agent_versions import with_versions
from ralph.values import dataclass, field

if TYPE_CHECKING:
    from ralph.domain.agent.quota import AgentQuota
    from ralph.domain.loop.asks import Ask
    from ralph.domain.views.pull_request import PullRequestView

LAST = "last"
"""The newest run that is not part of another, wherever a command takes a run."""
LONGEST = 200  # characters of a label


class RunState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  #: live; continues when the user says so
    WAITING = "waiting"  #: live: for a limit or a delay. Ended: for something outside
    INTERRUPTED = "interrupted"  #: its process ended, the run did not
    COMPLETED = "completed"
    EXHAUSTED = "exhausted"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def words(self) -> str:
        """What people read; the record and `--json` have the value."""
        return "limit reached" if self is RunState.EXHAUSTED else self.value


@dataclass(frozen=True, slots=True)
class LastCheck:
    """The newest verdict of a run."""

    name: str
    verdict: str

    @property
    def is_layer_without_objection(self) -> bool:
        return self.name in LAYER_NAMES and self.verdict in ("passed", "skipped")


def last_check_of(newest_first: Iterable[LastCheck]) -> LastCheck | None:
    """A layer of proof that passed hides neither the user's own check nor another layer that failed."""
    agreed: dict[str, LastCheck] = {}
    for check in newest_first:
        if check.is_layer_without_objection:
            agreed.setdefault(check.name, check)
        elif check.name not in agreed:  # else a layer that failed once, and passed since
            return check
    return next(iter(agreed.values()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run: who, how far, how much, and why it ended."""

    id: str
    profile: str
    agent: str
    root: str
    state: RunState
    live: bool  # its process is running
    iteration: int  # the current one, or how many were judged
    maximum: int | None
    cost_usd: float | None
    tokens: int
    last_check: LastCheck | None
    started_at: float
    active_at: float
    ended_at: float | None
    waits_until: float | None
    reason: str  # why it ended, or what it waits for
    concerns: tuple[str, ...] = ()
    parent_id: str = ""
    task: str = ""  # the task it works on, if any
    title: str = ""  # what it was asked to do, in a line, if that is known without its prompts
    role: str = ""  # of the newest iteration
    cost_is_partial: bool = False  # it cost at least this: part of it has no known price
    proof: ProofPolicy | None = (
        None  # None: no command could prove anything, or an earlier version did not say
    )
    quota: tuple[AgentQuota, ...] = ()  # what is left of subscriptions, as far as agents said so
    pull_request: PullRequestView | None = None  # of its branch, as it was seen last
    versions: Mapping[str, str] = field(default_factory=dict)  # of the agents that worked, as far as known

    @property
    def agent_words(self) -> str:
        return with_versions(self.agent, self.versions)


# --- the state of a run ---

_OUTCOMES = frozenset(RunState) - {RunState.RUNNING, RunState.PAUSED, RunState.INTERRUPTED}
"""The states that are an ``Outcome`` too; `ralph status` does without the loop's rules."""


def state_of(
    outcome: str | None, *, alive: bool, in_session: bool = False, paused: bool = False, waits: bool = False
) -> RunState:
    """``paused``: asked to pause, and nothing started since; a current session ends first."""
    if outcome is not None:
        return RunState(outcome) if outcome in _OUTCOMES else RunState.FAILED
    if not alive:
        return RunState.INTERRUPTED
    if in_session:
        return RunState.RUNNING
    if paused:
        return RunState.PAUSED
    return RunState.WAITING if waits else RunState.RUNNING


def outcome_words(outcome: str) -> str:
    """What people read for an outcome on record; one that this version does not know is shown as it is."""
    return RunState(outcome).words if outcome in _OUTCOMES else outcome


def reason_of(run: RunView) -> str:
    """Why it ended or what it waits for; if it was interrupted, what to do about it."""
    if run.state is RunState.INTERRUPTED:
        return "its process ended unexpectedly; `ralph resume` continues it"
    return run.reason


def caveat_of(run: RunView) -> str:
    """What must be said of work that was accepted with less proof than usual."""
    return run.proof.caveat if run.proof is not None and run.state is RunState.COMPLETED else ""


def possible_asks(run: RunView) -> tuple[Ask, ...]:
    """What may be asked of it now. A run that ended to wait can only be told to stop waiting."""
    from ralph.domain.loop.asks import Ask

    if run.live:
        return (Ask.UNPAUSE if run.state is RunState.PAUSED else Ask.PAUSE, Ask.STEER, Ask.STOP, Ask.STOP_NOW)
    return (Ask.STOP,) if run.state is RunState.WAITING else ()


# --- choosing runs ---


def sort_runs(runs: Iterable[RunView], *, limit: int | None = None) -> list[RunView]:
    """Live ones first, then the newest. Live ones are never left out."""
    newest = sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True)
    live = [run for run in newest if run.live]
    over = [run for run in newest if not run.live]
    return live + (over if limit is None else over[: max(0, limit - len(live))])


def match_runs(reference: str, newest_first: Sequence[str]) -> list[str]:
    """The names that ``reference`` may mean: a whole name, or the beginning or end of one."""
    if reference in newest_first:
        return [reference]
    if not reference:
        return []
    return [name for name in newest_first if name.startswith(reference) or name.endswith(reference)]


def removable_runs(
    runs: Iterable[RunView], *, keep: int, active_before: float | None = None
) -> list[RunView]:
    """Older than the ``keep`` newest and inactive since ``active_before``; never a live one."""
    older = sort_runs(run for run in runs if not run.live)[keep:]
    return [run for run in older if active_before is None or run.active_at < active_before]


def is_newest(run: RunView, runs: Iterable[RunView]) -> bool:
    """Nothing was started there since, so uncommitted changes may be its work."""
    return all(run.started_at >= other.started_at for other in runs if other.root == run.root)


def is_child(run: RunView, runs: Sequence[RunView]) -> bool:
    """Whether a run in this record started it. A parent in another project does not count."""
    return any(run.parent_id == other.id for other in runs)


# --- choosing runs of one working tree (worktrees of a repository share the record, but not the holder) ---


def runs_in(workspace: str, runs: Sequence[RunView]) -> list[RunView]:
    return [run for run in runs if run.root == workspace and not is_child(run, runs)]


def live_runs(runs: Sequence[RunView], workspace: str) -> list[RunView]:
    """A child run counts once its parent has ended: then it is the one that holds the workspace."""
    live = [run for run in runs if run.live]
    return [run for run in live if run.root == workspace and not is_child(run, live)]


def waiting_run(runs: Sequence[RunView], workspace: str) -> RunView | None:
    """A run that ended to wait for something outside, and so has no process to ask."""
    own = runs_in(workspace, runs)
    if live_runs(runs, workspace):
        return None
    return next((run for run in own if run.state is RunState.WAITING), None)


def newest_run(runs: Sequence[RunView], workspace: str) -> RunView | None:
    return max(runs_in(workspace, runs), key=lambda run: run.started_at, default=None)


RESUMABLE = frozenset(
    {RunState.INTERRUPTED, RunState.CANCELLED, RunState.EXHAUSTED, RunState.FAILED, RunState.WAITING}
)


def run_to_resume(runs: Sequence[RunView], workspace: str, *, extended: bool) -> RunView | None:
    """The newest run of all, if it can go on; otherwise the newest interrupted one.

    ``extended``: it gets a new limit, so an exhausted one qualifies too.
    """
    own = sorted(runs_in(workspace, runs), key=lambda run: run.started_at, reverse=True)
    wanted = {RunState.INTERRUPTED, *((RunState.EXHAUSTED,) if extended else ())}
    if own and not own[0].live and own[0].state in (RunState.CANCELLED, RunState.WAITING):
        return own[0]
    return next((run for run in own if run.state in wanted), None)


# --- the name of a run ---


class RunLabel(NamedTuple):
    """``title`` is the request in one line, ``task`` the task that it works on. Both may be empty."""

    title: str = ""
    task: str = ""

    def __str__(self) -> str:
        return f"{self.task} {self.title}".strip()


def label_of(options: Mapping[str, Any], first_prompt: str = "") -> RunLabel:
    """From the options it was started with, whatever its profile and version of ralph.

    If the prompt was a file, only ``first_prompt`` has its words.
    """
    prompt, task, command = (options.get(name) for name in ("prompt", "task", "command"))
    asked = prompt if isinstance(prompt, str) and prompt.strip() else first_prompt
    if not asked.strip() and isinstance(command, list):
        asked = " ".join(map(str, command))
    lines = (line.strip().lstrip("#").strip() for line in asked.splitlines())
    title = next((line for line in lines if line), "")
    return RunLabel(title[:LONGEST], task[:LONGEST] if isinstance(task, str) else "")


# --- a run and the runs it started ---


@dataclass(frozen=True, slots=True)
class TreeRow:
    """``last``: for each level down to the row's own, whether nothing follows: which lines to draw."""

    run: RunView
    last: tuple[bool, ...] = ()

    @property
    def depth(self) -> int:
        return len(self.last)


def run_tree(runs: Sequence[RunView]) -> list[TreeRow]:
    """Each run below the one that started it; roots keep their order, children go by their start.

    A run whose parent is not among ``runs`` is a root. In a circle, which only damage makes, each appears once.
    """
    known = {run.id for run in runs}
    children: dict[str, list[RunView]] = {}
    for run in sorted(runs, key=lambda run: (run.started_at, run.id)):
        children.setdefault(run.parent_id, []).append(run)
    shown: set[str] = set()
    rows: list[TreeRow] = []
    roots = [run for run in runs if run.parent_id not in known]
    for root in (*roots, *runs):
        if root.id not in shown:
            rows += _below(root, (), children, shown)
    return rows


def _below(
    top: RunView, last: tuple[bool, ...], children: dict[str, list[RunView]], shown: set[str]
) -> Iterator[TreeRow]:
    # A stack, not recursion: children may be nested to any depth.
    waiting = [(top, last)]
    while waiting:
        run, last = waiting.pop()
        if run.id in shown:
            continue
        shown.add(run.id)
        yield TreeRow(run, last)
        below = [child for child in children.get(run.id, ()) if child.id not in shown]
        waiting += [(child, (*last, place == 0)) for place, child in enumerate(reversed(below))]


def branch(last: tuple[bool, ...], *, ascii_only: bool = False) -> str:
    """The lines before a row."""
    if not last:
        return ""
    pipe, fork, corner = ("|  ", "|- ", "`- ") if ascii_only else ("│  ", "├─ ", "└─ ")
    return "".join("   " if end else pipe for end in last[:-1]) + (corner if last[-1] else fork)


# --- following the record ---


class Head(NamedTuple):
    """Differs whenever there may be something new; an equal one means that nothing was written."""

    file: int = 0  # 0: no record yet
    version: int = 0
    seq: int = 0  # of the newest event of any run
    plan: int = 0


class FeedEvent(NamedTuple):
    """One stored event; ``data`` is JSON, perhaps of another version of ralph."""

    seq: int
    iteration: int
    at: float
    kind: str
    data: bytes
