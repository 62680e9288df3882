"""What a delivery asks of the world: a forge, the branch on this machine, and a memory that survives a kill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ralph.domain.delivery.facts import CheckRun, MergeMethod, PullRequest, Remark, Required, Review
from ralph.domain.delivery.memory import Delivered
from ralph.domain.delivery.receipt import Proof
from ralph.domain.delivery.texts import FailureLog
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPullRequest:
    """What to open. Labels, reviewers and assignees that the forge does not know are told, and no failure."""

    branch: str
    base: str
    title: str
    body: str
    is_draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repository:
    """``can_push``: the user who is logged in may write to it."""

    name: str
    default_branch: str
    can_push: bool
    url: str = ""


@dataclass(frozen=True, slots=True)
class Opinions:
    """What people said about a pull request: everything they wrote, and the newest verdict of each who may write.

    What ralph itself wrote is not in it.
    """

    remarks: tuple[Remark, ...] = ()
    reviews: tuple[Review, ...] = ()


class Forge(Protocol):
    """A place with pull requests. Every method may raise ServiceAway (try again later) and ServiceRefused (it never will).

    Looking is cheap when nothing has changed. Nothing here is decided: see ``deliver``.
    """

    @property
    def look_cost(self) -> float:
        """Seconds of processor time that one look at a pull request takes, roughly."""
        ...

    async def repository(self) -> Repository: ...

    async def pulse(self) -> Mapping[int, str]:
        """For every pull request that changed lately, a text that differs when something about it may have changed. One or
        two questions for the whole repository, however many pull requests it has; it may miss what other services say."""
        ...

    async def find(self, branch: str) -> PullRequest | None:
        """The pull request of a branch: the open one, else the newest."""
        ...

    async def pull(self, number: int) -> PullRequest:
        """As it is now. Raises ServiceRefused if there is none."""
        ...

    async def open(self, wanted: NewPullRequest) -> tuple[PullRequest, tuple[str, ...]]:
        """The pull request, and what could not be done as wanted. If one is open for the branch already, that one."""
        ...

    async def describe(self, number: int, *, body: str) -> None:
        """Replace its text."""
        ...

    async def tip(self, branch: str) -> str:
        """The newest commit of a branch; empty: there is no such branch."""
        ...

    async def checks(self, commit: str) -> tuple[CheckRun, ...]:
        """Every run of every check on exactly this commit, earlier ones too."""
        ...

    async def required(self, base: str) -> Required:
        """What the rules of the base demand, as far as this user may see them."""
        ...

    async def opinions(self, number: int) -> Opinions: ...

    async def failure(self, run: CheckRun) -> FailureLog:
        """What a failed run printed, as far as it can be had. Never raises ServiceRefused."""
        ...

    async def rerun(self, run: CheckRun) -> None: ...

    async def answer(self, number: int, remark: Remark, text: str) -> None:
        """In the thread of the remark, or in the conversation. Not again if the same text is there already."""
        ...

    async def merge(self, number: int, *, head: str, method: MergeMethod, title: str = "") -> str:
        """Merge, or have it merged by the forge's queue, exactly this head. Gives what to tell. Raises ServiceRefused with the forge's words."""
        ...


@dataclass(frozen=True, slots=True)
class PushRefused:
    """``is_theirs``: someone else has changed the branch there; else the forge does not allow it."""

    reason: str
    is_theirs: bool = False


class Branch(Protocol):
    """The branch on this machine, in a working tree of its own or the user's, and its place on the remote.

    Raises GitFailed; ServiceAway if the remote cannot be reached.
    """

    @property
    def name(self) -> str: ...

    async def tip(self) -> str: ...

    async def is_checked_out(self) -> bool:
        """What is in the working tree is this branch: nothing else can be proven or worked on there."""
        ...

    async def commit_left(self, message: str) -> str:
        """Commit what accepted work left uncommitted, a merge that was resolved included; gives the new tip."""
        ...

    async def changed_files(self, since: str, commit: str) -> Sequence[str]:
        """Those that differ between two commits."""
        ...

    async def brought_files(self, since: str, base: str) -> Sequence[str]:
        """Those that ``base`` has changed since it and ``since`` parted."""
        ...

    async def return_home(self) -> str:
        """Check the branch out again, if a session left another one there and nothing is in the way; gives that one."""
        ...

    async def uncommitted(self) -> Sequence[str]: ...

    async def edited(self) -> Sequence[str]:
        """Of these, the files that git knows."""
        ...

    async def remote_tip(self) -> str:
        """The commit of the branch on the remote; empty: it is not there."""
        ...

    async def push(self, commit: str, *, expected: str) -> PushRefused | None:
        """Exactly ``commit``, and only if the branch there is at ``expected`` (empty: not there)."""
        ...

    async def contains(self, commit: str) -> bool:
        """Whether the branch has this commit."""
        ...

    async def precedes(self, commit: str, later: str) -> bool:
        """Whether ``later`` is ``commit`` or has it."""
        ...

    async def is_new_to(self, commit: str) -> bool:
        """Whether the branch has anything that ``commit`` lacks."""
        ...

    async def fetch(self, base: str) -> str:
        """The newest commit of the base on the remote, brought here. Raises GitFailed if there is no such branch."""
        ...

    async def is_merging(self) -> bool:
        """A merge was begun here and is not committed: a session was to resolve it."""
        ...

    async def merge(self, commit: str, *, message: str) -> Sequence[str]:
        """Merge into the branch; the conflicting files, which are left for a session to resolve. One that is under way is
        not begun again."""
        ...

    async def abort_merge(self) -> None:
        """The tree is as it was before ``merge``."""
        ...

    async def subjects(self, since: str) -> Sequence[str]:
        """The first lines of its commits since ``since``, the oldest first."""
        ...


class DeliveryMemory(Protocol):
    """What became of this branch so far. On disk when ``save`` returns."""

    def load(self) -> Delivered: ...

    def save(self, delivered: Delivered) -> None: ...


@dataclass(frozen=True, slots=True)
class Proven:
    """Whether a commit passes what must pass before it is pushed. ``told``: for the agent, if it does not. ``is_cut``: a
    stop or a limit came first, so nothing was judged."""

    passed: bool
    proofs: tuple[Proof, ...] = ()
    told: str = ""
    reason: str = ""
    is_cut: bool = False
