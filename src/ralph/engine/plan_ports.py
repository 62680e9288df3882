"""What enforcing a plan needs from the world, and the snapshot that only the engine can write."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ralph.domain.iteration_mode import Mode
from ralph.domain.tasks_document import TasksDocument, read_document


@dataclass(frozen=True, slots=True)
class TreeState:
    """A working tree between sessions: the commit, and what was uncommitted then (path → digest of its content)."""

    commit: str = ""
    uncommitted: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class TrustedPlan:
    """The engine's own memory of the plan: the agent has a shell, but not this.

    ``pending`` is the document with an approval in it that no proof has confirmed yet: a crash forgets it.
    """

    document: TasksDocument
    in_session: bool = False  # begun and not judged yet
    guarded: Mapping[str, bytes | None] = field(default_factory=dict)  # files that no session may change
    tree: TreeState = TreeState()
    told: tuple[str, ...] = ()  # for the next prompt
    pending: TasksDocument | None = None
    moved: str | None = None  # the story that the last session legally moved
    at_cap: str | None = None  # the story that the last session approved only because of the cap

    def to_json(self) -> str:
        """What a resumed run needs of it."""
        return json.dumps(
            {
                "tasks": self.document.text(),
                "told": list(self.told),
                "inSession": self.in_session,
                "guarded": {
                    name: None if content is None else base64.b64encode(content).decode()
                    for name, content in self.guarded.items()
                },
            }
        )


def trusted_plan_from(text: str) -> TrustedPlan | None:
    """None if it is not what ``to_json`` writes."""
    try:
        saved = json.loads(text)
        document = read_document(saved["tasks"])
        if not isinstance(document, TasksDocument):
            return None
        return TrustedPlan(
            document,
            in_session=bool(saved["inSession"]),
            guarded={
                name: None if content is None else base64.b64decode(content)
                for name, content in saved["guarded"].items()
            },
            told=tuple(map(str, saved["told"])),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


class PlanStore(Protocol):
    """The files of a plan, and a place that is the run's own."""

    @property
    def folder(self) -> str:
        """The plan's folder as seen from the project's root, with slashes."""
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
        """What an interrupted run saved last; None: this run is new."""
        ...

    def save_trusted(self, text: str) -> None: ...


class PlanRepository(Protocol):
    """The effects of enforcing a plan on git. Paths are seen from the project's root, with slashes."""

    async def state(self) -> TreeState: ...

    async def changed_since(self, before: TreeState) -> tuple[str, ...]:
        """Whatever differs from then, committed or not, new files too; ralph's own files never."""
        ...

    async def restore(self, paths: Sequence[str], before: TreeState) -> tuple[str, ...]:
        """Put files back as they were committed then; their present content is kept aside first.

        Gives back the paths that could not be: they were uncommitted then too.
        """
        ...

    async def commit(self, paths: Sequence[str], message: str) -> str:
        """Commit these and nothing else, if there is anything to commit. What went wrong, or nothing."""
        ...


class PlanKeeper(Protocol):
    """Holds the trusted plan for whoever offers work from it."""

    @property
    def plan(self) -> TrustedPlan: ...

    async def catch_up(self) -> None:
        """Take in what changed outside of a judged session, and undo what may not."""
        ...

    async def begin(self, mode: Mode) -> None:
        """A session is about to start: remember what it finds."""
        ...
