"""A delivery that is killed before or after any question, any deed and any word on record ends as if nobody had."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.delivery.memory_forge import MemoryForge, commit_named

from ralph.domain.delivery.facts import MergeMethod, Policy, PullState
from ralph.domain.delivery.progress import Asking, Ended, Fixing, Waiting
from ralph.engine.delivery.delivery import Delivery
from ralph.engine.delivery.order import Order
from ralph.engine.delivery.ports import Proven, PushRefused
from ralph.testing.fake_clock import FakeClock

from .delivered import PROOF, Memory

MOST_TURNS = 60


class Killed(BaseException):
    """As by kill -9: nothing more is done or written."""


@dataclass
class Killer:
    """``at``: the number of the deed at which it strikes, counted from 1; ``after``: when it was done."""

    at: int = 0
    after: bool = False
    deeds: list[str] = field(default_factory=list)

    def begin(self, name: str) -> int:
        self.deeds.append(name)
        if len(self.deeds) == self.at and not self.after:
            raise Killed(name)
        return len(self.deeds)

    def end(self, number: int) -> None:
        if number == self.at and self.after:
            raise Killed(self.deeds[number - 1])


class Mortal:
    """Whatever is called on the other: a moment at which the process may be killed."""

    def __init__(self, other: Any, killer: Killer, kind: str) -> None:
        self._other, self._killer, self._kind = other, killer, kind

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._other, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            number = self._killer.begin(f"{self._kind}.{name}")
            answer = found(*given, **named)
            if asyncio.iscoroutine(answer):
                return self._waited(answer, number)
            self._killer.end(number)
            return answer

        return call

    async def _waited(self, answer: Any, number: int) -> Any:
        value = await answer
        self._killer.end(number)
        return value


@dataclass
class MemoryBranch:
    """Commits without files. ``parents``: of each commit that anyone has made."""

    forge: MemoryForge
    parents: dict[str, tuple[str, ...]]
    local: str
    name: str = "feature"

    def commit(self, *parents: str) -> str:
        made = commit_named(f"commit {len(self.parents)}")
        self.parents[made] = parents
        return made

    def work(self) -> None:
        self.local = self.commit(self.local)

    async def tip(self) -> str:
        return self.local

    async def is_checked_out(self) -> bool:
        return True

    async def changed_files(self, since: str, commit: str) -> list[str]:
        return []

    async def brought_files(self, since: str, base: str) -> list[str]:
        return []

    async def return_home(self) -> str:
        return ""

    async def abort_merge(self) -> None:
        """There is none."""

    async def commit_left(self, message: str) -> str:
        return self.local

    async def uncommitted(self) -> list[str]:
        return []

    async def edited(self) -> list[str]:
        return []

    async def remote_tip(self) -> str:
        return self.forge.branches.get(self.name, "")

    async def push(self, commit: str, *, expected: str) -> PushRefused | None:
        if self.forge.branches.get(self.name, "") != expected:
            return PushRefused("stale info", is_theirs=True)
        self.forge.push(self.name, commit)
        return None

    async def contains(self, commit: str) -> bool:
        return await self.precedes(commit, self.local)

    async def precedes(self, commit: str, later: str) -> bool:
        return commit == later or any(
            [await self.precedes(commit, one) for one in self.parents.get(later, ())]
        )

    async def is_new_to(self, commit: str) -> bool:
        return not await self.precedes(self.local, commit)

    async def fetch(self, base: str) -> str:
        return self.forge.branches[base]

    async def is_merging(self) -> bool:
        return False

    async def merge(self, commit: str, *, message: str) -> tuple[str, ...]:
        if not await self.contains(commit):
            self.local = self.commit(self.local, commit)
        return ()

    async def subjects(self, since: str) -> list[str]:
        return ["Add the work"]


class World:
    """Red at first; then a remark; then a flaky check; then the base moves; then it is green, and is merged."""

    def __init__(self) -> None:
        self.forge = MemoryForge()
        begin = self.forge.branches["main"]
        self.forge.check(begin, "build", "success")  # so everyone knows which checks there are
        self.branch = MemoryBranch(self.forge, {begin: ()}, begin)
        self.branch.work()
        self.memory = Memory()
        self.commits: list[str] = [self.branch.local]  # that people or sessions made
        self.pushes: list[str] = []
        self.forge.on_push.append(self._pushed)
        self.forge.on_rerun = lambda run: self.forge.finish(run.id, "success")
        self.sessions = 0

    def _pushed(self, branch: str, commit: str) -> None:
        if branch != "feature":
            return
        self.pushes.append(commit)
        match len(self.pushes):
            case 1:
                self.forge.check(commit, "build", "failure")
            case 2:
                self.forge.check(commit, "build", "success")
                self.forge.comment_on_line("colleague", "rename it", number=1, path="a", line=1)
            case 3:
                self.forge.check(commit, "build", "failure")
                self.forge.check(commit, "build", "success")
                self.forge.push("main", self.branch.commit(self.forge.branches["main"]))
            case _:
                self.forge.check(commit, "build", "success")

    def delivery(self, killer: Killer) -> Delivery:
        forge: Any = Mortal(self.forge, killer, "forge")
        branch: Any = Mortal(self.branch, killer, "branch")
        memory: Any = Mortal(self.memory, killer, "memory")
        order = Order(base="main", policy=Policy(merge=MergeMethod.SQUASH), labels=("ready",))

        async def prove(commit: str) -> Proven:
            return Proven(True, (PROOF,))

        return Delivery(
            forge=forge,
            branch=branch,
            memory=memory,
            order=order,
            prove=prove,
            publish=lambda event: None,
            clock=FakeClock(),
        )

    async def drive(self, killer: Killer) -> Ended | Asking:
        """One process, with the agent's sessions, until it ends or is killed."""
        delivery = self.delivery(killer)
        for _ in range(MOST_TURNS):
            progress = await delivery.advance()
            match progress:
                case Ended() | Asking():
                    return progress
                case Waiting():
                    pass
                case Fixing():
                    delivery.hand_over(progress, tip=self.branch.local)
                    self.sessions += 1
                    self.branch.work()
                    self.commits.append(self.branch.local)
                    number = killer.begin("agent.work")
                    killer.end(number)
                    delivery.accept(self.branch.local, (PROOF,))
        message = "it never ended"
        raise AssertionError(message)


def ship(killer: Killer) -> World:
    world = World()

    async def drive() -> None:
        try:
            ended = await world.drive(killer)
        except Killed:
            ended = await world.drive(Killer())
        assert isinstance(ended, Ended), ended
        assert ended.is_merged

    asyncio.run(asyncio.wait_for(drive(), 30))
    return world


def require_right(world: World, *, sessions: int, is_asked_again: bool = False) -> None:
    """``is_asked_again``: the very question that came before, or just after, the kill may be asked a second time."""
    forge, (pull,) = world.forge, world.forge.pulls.values()
    assert pull.state is PullState.MERGED
    assert pull.head == world.pushes[-1] == world.branch.local
    for commit in world.commits:
        assert asyncio.run(world.branch.precedes(commit, pull.head)), "work was lost"
    assert world.sessions == sessions
    assert [remark for _, remark, _ in forge.answers] == ["thread-" + forge.answers[0][1].split("-")[1]]
    (answer,) = (text for _, _, text in forge.answers)
    assert any(f"addressed this in {commit}" in answer for commit in world.commits[2:])
    third = world.pushes[2]
    assert len([run for run in forge.runs if run.commit == third]) == 3, "run again, once"
    assert "Flaky (passed and failed on one commit): build" in pull.body
    assert forge.adorned[1].labels == ("ready",)
    assert len(world.pushes) == 4
    assert (
        forge.asked.count("merge") == forge.asked.count("open") == forge.asked.count("answer") == 1
        or is_asked_again
    )
    assert f"{pull.head[:12]}" in pull.body


def test_nobody_is_killed() -> None:
    require_right(ship(Killer()), sessions=2)


def deeds() -> Iterator[tuple[int, str, bool]]:
    killer = Killer()
    ship(killer)
    for number, name in enumerate(killer.deeds, 1):
        if name == "memory.load":
            continue  # the same moment as the end of what was before
        yield number, name, False
        yield number, name, True


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_every_moment(after: bool) -> None:
    """One test, and its message says where: there are hundreds of moments."""
    wrong = []
    for number, name, is_after in deeds():
        if is_after is not after:
            continue
        try:
            world = ship(Killer(number, after))
            # A session that was not accepted is run once more.
            is_cut = name == "agent.work" or (name == "memory.save" and world.sessions == 3)
            is_asked_again = name.startswith("forge.") or name == "memory.save"
            require_right(world, sessions=3 if is_cut else 2, is_asked_again=is_asked_again)
        except AssertionError as error:
            wrong.append(f"{number} {name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_there_are_moments_of_every_kind() -> None:
    names = {name for _, name, _ in deeds()}
    wanted = {"forge.open", "forge.describe", "forge.answer", "forge.rerun", "forge.merge", "branch.push"}
    assert wanted | {"branch.merge", "memory.save", "agent.work"} <= names
