"""A delivery with everything of its own: a forge in memory, a git repository and its remote, a memory that can be reopened."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.delivery.memory_forge import MemoryForge

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.delivered_branch import DeliveredBranch
from ralph.adapters.workspace.outpost import Outpost
from ralph.domain.delivery.memory import Delivered
from ralph.domain.delivery.progress import Progress
from ralph.domain.delivery.receipt import Proof
from ralph.engine.delivery.delivery import Delivery
from ralph.engine.delivery.order import Order
from ralph.engine.delivery.ports import Proven
from ralph.testing.fake_clock import FakeClock

T = TypeVar("T")
PROOF = Proof("make test")


class Memory:
    """Survives the delivery that wrote it, as a database does."""

    def __init__(self) -> None:
        self.kept = Delivered()

    def load(self) -> Delivered:
        return self.kept

    def save(self, delivered: Delivered) -> None:
        self.kept = delivered


@dataclass
class Repository:
    """A working tree on the branch ``feature``, one commit ahead of main, and the remote that the forge knows."""

    folder: Path
    forge: MemoryForge

    def __post_init__(self) -> None:
        self.remote, self.root = self.folder / "remote.git", self.folder / "work"
        git(self.folder, "init", "-q", "--bare", "-b", "main", str(self.remote))
        git(self.folder, "init", "-q", "-b", "main", str(self.root))
        self.forge.branches["main"] = self.commit({"README": "1\n"}, "Begin")
        self.git("push", "-q", str(self.remote), "main")
        self.forge.check(self.tip, "build", "success")  # so everyone knows which checks there are
        self.git("checkout", "-q", "-b", "feature")
        self.commit({"work.txt": "1\n"}, "Add the work")

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def commit(self, files: dict[str, str], message: str = "Work") -> str:
        for name, text in files.items():
            (self.root / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "-q", "-m", message)
        return self.tip

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "HEAD")

    def remote_tip(self, branch: str = "feature") -> str:
        return git(self.remote, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    def push_by_someone(
        self, branch: str, files: dict[str, str], *, start: str = "", told: bool = True
    ) -> str:
        """From a clone of their own, by force; ``start``: on top of that commit instead of the branch's tip."""
        clone = self.folder / "clone"
        if not clone.exists():
            git(self.folder, "clone", "-q", str(self.remote), str(clone))
        git(clone, "fetch", "-q", "--prune", "origin")
        git(clone, "checkout", "-q", "--detach", start or f"origin/{branch}")
        for name, text in files.items():
            (clone / name).write_text(text)
        git(clone, "add", "--all")
        git(clone, "commit", "-q", "--allow-empty", "-m", "Theirs")
        git(clone, "push", "-q", "--force", "origin", f"HEAD:refs/heads/{branch}")
        commit = git(clone, "rev-parse", "HEAD")
        if told:
            self.forge.push(branch, commit)
        return commit


class SeenBranch(DeliveredBranch):
    """What is pushed, the forge knows at once. ``before_push``: what happens just before a push arrives."""

    forge: MemoryForge
    before_push: Callable[[], None] = staticmethod(lambda: None)

    async def push(self, commit: str, *, expected: str) -> Any:
        self.before_push()
        refused = await super().push(commit, expected=expected)
        if refused is None:
            self.forge.push(self.name, commit)
        return refused


@dataclass
class Bench:
    """Everything of one delivery. ``killed`` gives the next process's: the same record, forge and repository."""

    folder: Path
    forge: MemoryForge = field(default_factory=MemoryForge)
    memory: Memory = field(default_factory=Memory)
    clock: FakeClock = field(default_factory=FakeClock)
    told: list[Any] = field(default_factory=list)
    proofs: list[str] = field(default_factory=list)
    rebased: list[str] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)  # what the guardrails say, one after the other

    def __post_init__(self) -> None:
        self.repository = Repository(self.folder, self.forge)
        self.order = Order(base="main")

    def delivery(self) -> Delivery:
        runner = PosixProcessRunner(run_id="r", base_environment=os.environ)
        here = Git(self.repository.root, runner)
        outpost = run(Outpost.make(here, runner))
        branch = SeenBranch(here, "feature", address=str(self.repository.remote), outpost=outpost)
        branch.forge = self.forge
        return Delivery(
            forge=self.forge,
            branch=branch,
            memory=self.memory,
            order=self.order,
            prove=self._prove,
            publish=self.told.append,
            clock=self.clock,
            rebase=self._rebase,
        )

    def advance(self, delivery: Delivery | None = None) -> Progress:
        return run((delivery or self.delivery()).advance())

    async def _prove(self, commit: str) -> Proven:
        self.proofs.append(commit)
        if self.failing and (wrong := self.failing.pop(0)):
            return Proven(False, told=wrong, reason=wrong)
        return Proven(True, (PROOF,))

    async def _rebase(self) -> None:
        self.rebased.append(self.repository.tip)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 60))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()
