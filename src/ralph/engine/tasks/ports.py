"""What work on tasks asks of the world. A user's own verification methods use the first part too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from ralph.domain.loop.decision import Decision
from ralph.domain.loop.evidence import Evidence, Verdict
from ralph.domain.loop.session_report import Hindrance, Spend
from ralph.domain.tasks.completion import CompletionCriteria
from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.refusal import NotOurs
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.engine.ports import Agent, Commands, Journal, Judging, ProcessRunner
from ralph.values import dataclass, field

if TYPE_CHECKING:
    from ralph.domain.delivery.progress import Ended, Fixing, Progress
    from ralph.domain.loop.state import LoopState
    from ralph.domain.tasks.pipeline import MergeResult
    from ralph.domain.tasks.work_result import TaskResult
    from ralph.engine.loop import RunResult
    from ralph.engine.recording import Listener

# --- verifying what one role did ---


class Judges(Protocol):
    """Finds the agent that judges."""

    def __call__(self, model: str, tags: Sequence[str], *, turn: int = 0) -> Agent:
        """``model``: empty is the settings' choice. ``tags``: what it will answer in. ``turn``: which agent of the
        chain is asked first, so that a second question goes to another one if there is one."""
        ...


class KeptTree(Protocol):
    """The files of the work, as they were."""

    async def put_back(self) -> Sequence[str]:
        """Those that have changed since; they are as they were."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationTools:
    """What all verifications of a task share. ``custom_method`` finds a method of the user's own by its name."""

    runner: ProcessRunner  # in the sandbox, if there is one
    commands: Commands  # run there too
    journal: Journal
    judge: Judges
    custom_method: Callable[[str], Method]
    root: Path
    state_folder: Path  # where the logs of checks are found
    truncate_chars: int
    redact: Callable[[str], str]
    fingerprint: Callable[[], Awaitable[str]]  # of the working tree; empty: not known
    diff: Callable[[], Awaitable[str]]  # what the task has changed so far
    keep_tree: Callable[[], Awaitable[KeptTree]]  # around a judge, who must change nothing
    rerun_failing: bool = False
    known: dict[object, MethodVerdict] = field(default_factory=dict)  # verdicts on this iteration's tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifying:
    """One verification: of ``task`` in ``role``, after the session that ``judging`` is about."""

    config: Mapping[str, Any]
    criteria: CompletionCriteria
    task: Task
    role: str
    judging: Judging
    tools: VerificationTools
    name: str = ""  # of the stage, if it is one of several


@dataclass(frozen=True, slots=True)
class MethodVerdict:
    """``told`` goes to the agent if it did not pass; ``reason`` is one line for people."""

    verdict: Verdict
    reason: str
    told: str = ""
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    log_file: str = ""
    output_sha256: str = ""
    spend: Spend = Spend()
    concern: str = ""
    last_lines: tuple[str, ...] = ()
    hindrance: Hindrance | None = None  # it errored because whoever should judge could not

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED


class Method(Protocol):
    """One way to verify. Never raises for what the work does."""

    async def verify(self, verifying: Verifying) -> MethodVerdict: ...


# --- the tasks, their worktrees, merges and runs ---

Verify = Callable[[Path], Awaitable[str]]
"""Examines a merged tree: empty if it is good, else what is wrong with it."""


class TaskRecord(Protocol):
    """One task as it is on record, and how it advances."""

    def task(self) -> Task: ...

    def put_back(self, task: Task) -> None:
        """Someone changed what only the harness may: how far it is, and by what it is judged."""
        ...

    def settle(
        self, before: Task, after: Task, *, evidence: Evidence | None, decision: Decision, role: str
    ) -> None:
        """On record together with the state of the run, or not at all."""
        ...


class TaskQueue(Protocol):
    """All tasks of a project. Other processes use them too: whoever works on one has claimed it."""

    def find(self, task_id: str) -> Task | None: ...

    def get(self, task_id: str) -> Task:
        """Raises UsageError if there is none."""
        ...

    def in_status(self, status: TaskStatus) -> Sequence[Task]:
        """By priority, then as they were added."""
        ...

    def claim(self, task_id: str, *, run_id: str, at: float) -> bool:
        """This process works on it from now on. False: another one does, or it cannot be begun."""
        ...

    def claim_next(self, *, run_id: str, at: float) -> Task | None:
        """The most urgent task that is ready, claimed."""
        ...

    def release(self, task_id: str) -> None: ...

    def change(self, task_id: str, rule: Callable[[Task], Task], *, at: float) -> Task:
        """Apply ``rule`` to the task as it is now."""
        ...

    def note(self, task_id: str, event: TaskEvent) -> None:
        """For its history: what no change of the task says by itself."""
        ...


class OutsideWatch(Protocol):
    """Compares the tasks with how they were seen last: an agent has a shell, and could write to the record."""

    def look(self, own: Collection[str]) -> Sequence[str]:
        """Put back what no command of ralph did; gives what the user should know at the end. ``own``: worked on here."""
        ...

    def settled(self, task_id: str) -> None:
        """The work on it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class Worktree:
    """Where a task is worked on. ``base`` is the commit that its work is compared with; ``folder`` is where the
    project is in its repository, empty if it is all of it."""

    path: Path
    branch: str
    base: str
    folder: str = ""

    @property
    def workspace(self) -> Path:
        """Where agents work and commands run: the same folder as in the user's checkout."""
        return self.path / self.folder

    def from_top(self, path: str) -> str:
        """A path of the project, as seen from the top of the worktree."""
        return str(PurePosixPath(self.folder, path)) if self.folder else path


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of a worktree that is no longer needed. ``why``: it still is, or could not be removed.

    ``kept``: files that git ignores, and so were not merged. They are in ``place`` now.
    """

    is_removed: bool = False
    why: str = ""
    kept: tuple[str, ...] = ()
    place: Path = Path()


class Worktrees(Protocol):
    """One for each task. Nothing of the work in one is ever discarded."""

    async def names(self) -> list[str]: ...

    def place(self, name: str) -> Path: ...

    async def open(self, name: str, *, start: str, base: str = "") -> Worktree:
        """Made from ``start`` unless the task has one already."""
        ...

    async def close(self, worktree: Worktree, *, merged_into: str) -> Removal:
        """Remove worktree and branch, unless something in it is not merged."""
        ...


class Preparation(Protocol):
    """What a worktree needs before it can build. No agent's doing, and none is told unless its own changes broke it."""

    async def prepare(self, worktree: Worktree) -> str | None:
        """None if it is set up already; else empty, or why it fails with what the task has changed.

        Raises SetupFailed if it fails without that too.
        """
        ...


class Merges(Protocol):
    """Into one target branch, the user's."""

    async def prepare(self) -> None:
        """Before the first merge: remove what killed runs left."""
        ...

    async def finish(self) -> None:
        """After the last merge: leave nothing behind."""
        ...

    async def return_to_branch(self, worktree: Worktree) -> bool:
        """The worktree is on its branch, or is put back onto it. False: what it has checked out does not follow from it."""
        ...

    async def changed_since(self, worktree: Worktree, commit: str) -> Sequence[str] | None:
        """Files that are not as they are in ``commit``, committed since or not; None if there is no such commit."""
        ...

    async def is_unchanged(self, worktree: Worktree, commit: str) -> bool:
        """``commit`` makes no difference to the base of the work."""
        ...

    async def merge(self, worktree: Worktree, commit: str, *, message: str, verify: Verify) -> MergeResult:
        """Exactly this commit: verified beside the user's tree, then moved there. Idempotent."""
        ...

    async def catch_up(self, worktree: Worktree) -> None:
        """Merge its base into the work; a conflict is left for the agent to resolve. Idempotent."""
        ...

    async def is_in_target(self, worktree: Worktree) -> bool:
        """Commits of the work are in the target branch already."""
        ...

    async def moved_by_others(self) -> str:
        """Somebody has moved the target branch, but not the user's tree along with it: what to tell; empty: nobody."""
        ...


@dataclass(frozen=True, slots=True)
class Judged:
    """What the final verification of a task's commit found: empty if it is good. ``is_cut``: nothing, because the
    verification was cut off, or is not wanted any more."""

    wrong: str = ""
    is_cut: bool = False


JudgeOnce = Callable[[Callable[[], Awaitable[str]]], Awaitable[Judged]]
"""Runs a final verification when there is room for it, and knows whether what it says counts."""


class Shipment(Protocol):
    """The way of one task's branch through its pull request."""

    async def take_up(self) -> None:
        """Finish what a killed process began: what ralph itself merged into the branch counts as accepted."""
        ...

    async def is_merging(self, commit: str) -> bool:
        """A merge into exactly this commit is under way, with conflicts: the delivery knows what to do about it."""
        ...

    def accept(self, commit: str) -> None:
        """Every role has accepted this commit: what was asked is answered by it, or by nobody's having anything to change.
        It must still be proven. Idempotent."""
        ...

    async def advance(self) -> Progress:
        """Everything that can be done now, and what is next."""
        ...

    async def taken(self, commit: str, ended: Ended) -> str:
        """What has this commit, now that it ended like this: a commit that was merged, or the base; empty: neither."""
        ...

    def begin_again(self) -> None:
        """The pull request is over: what is left needs another one."""
        ...

    def hand_over(self, fixing: Fixing, *, tip: str) -> None:
        """The first role will work on this, beginning with the commit ``tip``: its next session is told so, also after a
        kill."""
        ...


class WayOut(Protocol):
    """How accepted work leaves: merged into the user's branch, or by a pull request."""

    @property
    def waiting(self) -> int:
        """Tasks that only wait for something outside: others may be worked on meanwhile."""
        ...

    @property
    def can_wait(self) -> bool:
        """Whether a task ever does."""
        ...

    async def start(self, task: Task) -> str:
        """What the work on it begins with: a branch or a commit."""
        ...

    async def run(self, task: Task, worktree: Worktree) -> TaskResult | Task:
        """What became of the task; or the task itself, if it must be worked on again."""
        ...

    async def remove_worktree(self, task_id: str, worktree: Worktree) -> str:
        """Of merged work; returns why it could not be."""
        ...


class Supply(Protocol):
    """Where tasks come from besides the record, and who else wants to know what became of them."""

    @property
    def stays(self) -> bool:
        """More may come until the user stops it."""
        ...

    async def look_after(self) -> None:
        """Until it is cancelled: take in what comes, and tell what happened. Never raises what a service does."""
        ...

    async def take(self, task: Task) -> NotOurs | None:
        """Others may want to work on it too. None: it is ours. Never waits for anybody: others may be worked on meanwhile."""
        ...

    async def close(self) -> Sequence[str]:
        """Tell what is left to tell; gives what the user should know."""
        ...


class NoSupply:
    """All tasks are on record, and nobody else knows of them."""

    stays = False

    async def look_after(self) -> None: ...

    async def take(self, task: Task) -> NotOurs | None:
        return None

    async def close(self) -> Sequence[str]:
        return ()


class TaskRuns(Protocol):
    """Starts the run of one task, or resumes the one that an earlier process left behind."""

    async def run(
        self,
        task: Task,
        worktree: Worktree,
        *,
        exceeded: Callable[[], str | None],
        listen: Listener,
        spent: Callable[[Spend], LoopState],
    ) -> RunResult:
        """Until the task is accepted or cannot be. ``exceeded``: a limit of the whole work is reached. ``spent`` takes
        what the run has spent more, and gives the state of the whole: both are on record together, or neither is."""
        ...
