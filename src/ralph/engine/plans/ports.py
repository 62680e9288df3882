"""What enforcing a plan needs from the world, and the snapshot that only the engine can write."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from ralph.domain.plan.document import TasksDocument, read_document
from ralph.engine.plans.settlement import Settlement, settlement_from
from ralph.values import dataclass, field


@dataclass(frozen=True, slots=True)
class TreeState:
    """A working tree between sessions: the commit, and what was uncommitted then (path → digest of its content).

    ``branch`` is empty where none is checked out. ``hidden``: files that git was told not to look at, like ``uncommitted``.
    ``excluded`` is the list of ignored files that the repository keeps for itself; None: unknown.
    """

    commit: str = ""
    uncommitted: Mapping[str, str] = field(default_factory=dict)
    branch: str = ""
    hidden: Mapping[str, str] = field(default_factory=dict)
    excluded: bytes | None = None


@dataclass(frozen=True, slots=True)
class Return:
    """How a session that left its branch or rewrote its history was brought back.

    ``is_harmless``: its work was taken along. ``failed``: why it is not back.
    """

    told: str = ""
    is_harmless: bool = False
    failed: str = ""


@dataclass(slots=True)
class TrustedPlan:
    """The engine's own memory of the plan: the agent has a shell, but not this.

    ``pending`` is the document with an approval in it that no proof has confirmed yet: a crash forgets it.
    """

    document: TasksDocument
    run_id: str = ""  # that wrote it
    in_session: bool = False  # begun and not judged to the end yet
    is_review: bool = False  # that session
    guarded: Mapping[str, bytes | None] = field(default_factory=dict)  # files that no session may change
    tree: TreeState = TreeState()  # as the last session found it
    since: str = (
        ""  # the commit from which on nothing was accepted; empty: no session has worked since the last one
    )
    has_leftovers: bool = False  # the tree may hold work of an unjudged session
    told: tuple[str, ...] = ()  # for the next prompt
    pending: TasksDocument | None = None
    moved: str | None = None  # the story that the last session legally moved
    at_cap: str | None = None  # the story that the last session approved only because of the cap
    settled: Settlement | None = None  # of the last session; not the last word while ``in_session``

    def to_json(self) -> str:
        """What whoever resumes the plan needs to know."""
        return json.dumps(
            {
                "run": self.run_id,
                "tasks": self.document.text(),
                "told": list(self.told),
                "inSession": self.in_session,
                "isReview": self.is_review,
                "branch": self.tree.branch,
                "commit": self.tree.commit,
                "since": self.since,
                "uncommitted": sorted(self.tree.uncommitted),
                "hasLeftovers": self.has_leftovers,
                "settled": self.settled and self.settled.to_data(),
                "guarded": {
                    name: None if content is None else base64.b64encode(content).decode()
                    for name, content in self.guarded.items()
                },
            }
        )


def trusted_plan_from(text: str) -> TrustedPlan | None:
    """None if it is not what ``to_json`` writes, or wrote in an earlier version, which knew fewer fields."""
    try:
        saved = json.loads(text)
        document = read_document(saved["tasks"])
        if not isinstance(document, TasksDocument):
            return None
        return TrustedPlan(
            document,
            run_id=str(saved.get("run", "")),
            in_session=saved["inSession"] is True,
            is_review=saved.get("isReview") is True,
            tree=TreeState(
                str(saved.get("commit", "")),
                dict.fromkeys(map(str, saved.get("uncommitted", ())), ""),
                branch=str(saved.get("branch", "")),
            ),
            since=str(saved.get("since", "")),
            has_leftovers=saved.get("hasLeftovers") is True,
            guarded={
                name: None if content is None else base64.b64decode(content)
                for name, content in saved["guarded"].items()
            },
            told=tuple(map(str, saved["told"])),
            settled=settlement_from(saved.get("settled")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


class PlanStore(Protocol):
    """The files of a plan, and what ralph remembers of it."""

    @property
    def folder(self) -> str:
        """The plan's folder as seen from the project's root, with slashes."""
        ...

    @property
    def memory(self) -> str:
        """Where ``load_trusted`` looks; for messages."""
        ...

    def read_tasks(self) -> str | None:
        """None: there is none, or it is no readable text file."""
        ...

    def write_tasks(self, text: str) -> None: ...

    def read_guarded(self) -> Mapping[str, bytes | None]:
        """Content by name of prd.md and prompt.md; None where a file is not there."""
        ...

    def write_guarded(self, name: str, content: bytes | None) -> None: ...

    def read_progress(self) -> str: ...

    def set_aside(self, name: str) -> str:
        """Keep a copy of the plan's file as it is now, in the run's folder; where it is, or nothing."""
        ...

    def load_trusted(self) -> str | None:
        """What was saved last about this plan, by this run or an earlier one; None: nothing."""
        ...

    def save_trusted(self, text: str) -> None: ...


class PlanRepository(Protocol):
    """The effects of enforcing a plan on git. Paths are seen from the project's root, with slashes."""

    async def state(self) -> TreeState: ...

    async def come_back(self, before: TreeState, *, keep_history: bool) -> Return | None:
        """Back to the branch of ``before``, with all the commits that it had; nothing that was committed since is lost.

        None: there was no need. Not ``keep_history``: the history may have been changed by a person.
        """
        ...

    async def changed_since(self, before: TreeState) -> tuple[str, ...]:
        """Whatever has changed since, committed or not, new files too; never ralph's own files."""
        ...

    async def restore(self, paths: Sequence[str], before: TreeState) -> tuple[str, ...]:
        """Put files back as they were committed; their current content is kept aside first.

        Returns the paths that could not be restored: they were uncommitted before, too.
        """
        ...

    async def commit(self, paths: Sequence[str], message: str) -> str:
        """Commit these and nothing else, if there is anything to commit. What went wrong, or nothing."""
        ...
