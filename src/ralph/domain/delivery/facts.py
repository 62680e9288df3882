"""What is known of a pull request, all of it about one head commit."""

from __future__ import annotations

from enum import StrEnum

from ralph.values import dataclass, field


class PullState(StrEnum):
    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"  #: without being merged


class CheckState(StrEnum):
    """What a forge says of one run of one check."""

    QUEUED = "queued"
    RUNNING = "running"
    PASSED = "passed"  #: also neutral and skipped: the forge would let it be merged
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"
    BROKEN = "broken"  #: it could not start: the machine's fault, not the work's
    HELD = "held"  #: a person must let it run

    @property
    def is_over(self) -> bool:
        return self not in (CheckState.QUEUED, CheckState.RUNNING)


@dataclass(frozen=True, slots=True)
class CheckRun:
    """``at``: when it ended, else when it began (epoch); ``id``: the forge's own. ``source``: who runs it, and on what
    occasion: two workflows may have checks of one name."""

    name: str
    state: CheckState
    commit: str
    id: str = ""
    at: float = 0.0
    url: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """As the forge has it. ``is_mergeable`` None: not known yet. ``by``: who merged or closed it."""

    number: int
    url: str
    title: str
    state: PullState
    branch: str
    head: str
    base: str
    body: str = ""
    is_draft: bool = False
    is_mergeable: bool | None = None
    by: str = ""
    merge_commit: str = ""


class RemarkKind(StrEnum):
    THREAD = "thread"  #: on a line of the change
    REVIEW = "review"  #: of the whole, with or without a verdict
    COMMENT = "comment"  #: in the conversation


@dataclass(frozen=True, slots=True)
class Remark:
    """What someone wrote. ``is_trusted``: they may write to the repository. ``thread``: the remark that it answers."""

    id: str
    kind: RemarkKind
    author: str
    text: str
    is_trusted: bool
    at: float = 0.0
    path: str = ""
    line: int | None = None
    thread: str = ""
    url: str = ""


class Verdict(StrEnum):
    """Of a person who may review."""

    APPROVED = "approved"
    OBJECTS = "changes requested"


@dataclass(frozen=True, slots=True)
class Review:
    """The newest verdict of one reviewer who may write; ``commit`` is what they looked at."""

    author: str
    verdict: Verdict
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Required:
    """What the base branch demands by the forge's own rules. ``checks`` None: it names none."""

    checks: tuple[str, ...] | None = None
    approvals: int = 0
    is_strict: bool = False  # the branch must contain the base as it is now


class MergeMethod(StrEnum):
    OFF = "off"  #: a person merges
    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the settings say. ``checks``: the ones that must pass, instead of those that the forge or the base names."""

    merge: MergeMethod = MergeMethod.OFF
    has_ci: bool = True
    checks: tuple[str, ...] = ()
    answers_reviews: bool = True
    remote: str = "origin"  # what people call the remote


@dataclass(frozen=True, slots=True)
class Tried:
    """What ralph did about this pull request before. ``reruns``: checks that were run again on the current head."""

    reruns: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()  # checks that ran on an earlier commit of it
    answered: frozenset[str] = frozenset()  # ids of remarks
    updates: int = 0  # times that the base was merged into the branch, since a session worked on it
    is_merging: bool = False  # the forge was told to merge this head, and does so when its own rules hold
    on_base: frozenset[str] = frozenset()  # checks that failed on the base as well, when they were looked at
    is_futile: bool = False  # a session was accepted that found nothing to change at the current head


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything ``deliver`` decides by. ``ours``: the commit that ralph pushed last; ``earlier``: those before it.

    ``base_checks`` are of the newest commit of the base; ``has_moved``: the base has commits that the branch lacks.
    """

    pull: PullRequest
    ours: str
    earlier: frozenset[str] = frozenset()
    checks: tuple[CheckRun, ...] = ()
    base_checks: tuple[CheckRun, ...] = ()
    required: Required = Required()
    reviews: tuple[Review, ...] = ()
    remarks: tuple[Remark, ...] = ()
    has_moved: bool = False
    age: float = float("inf")  # seconds since the head was pushed
    policy: Policy = field(default_factory=Policy)
    tried: Tried = field(default_factory=Tried)
