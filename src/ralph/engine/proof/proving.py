"""Running what must pass in throw-away checkouts: the ground that the layers of proof share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Protocol

from ralph.domain.proof.file_names import is_code
from ralph.domain.proof.protection import is_test
from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand
from ralph.domain.proof.tree import Tree
from ralph.engine.ports import Control, Journal, Judging, Publish, When
from ralph.engine.proof.ports import Checkout, CommandsAt, ProofStore
from ralph.values import dataclass, replace

SHOWN_FILES = 10


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of the commands in one checkout: all passed, or ``command`` did not."""

    seconds: float = 0.0
    command: str = ""
    verdict: CommandVerdict | None = None
    log_file: str = ""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """How one command came out in a checkout."""

    required: RequiredCommand
    verdict: CommandVerdict
    log: Path


class Occasion(Protocol):
    """When commands are tried: while a claim is judged, or before the first session."""

    @property
    def iteration(self) -> int: ...

    @property
    def control(self) -> Control: ...

    @property
    def publish(self) -> Publish: ...


class Proving:
    """``required`` must pass. The same command is not tried twice with the same files: whatever passed once is known."""

    def __init__(
        self,
        store: ProofStore,
        required: Sequence[RequiredCommand],
        *,
        commands_at: CommandsAt,
        journal: Journal,
        when: When = When.BEFORE_ACCEPT,
    ) -> None:
        self.store = store
        self.required = tuple(required)
        self.when = when
        self._commands_at = commands_at
        self._journal = journal
        self._passed: set[tuple[str, RequiredCommand]] = set()
        self.red: set[tuple[str, RequiredCommand]] = set()  # those that fail if a test fails, by the files
        self._judged: tuple[Judging | None, Tree] = (None, Tree())

    def requiring(self, required: Sequence[RequiredCommand]) -> Proving:
        """The same for other commands; what passed is known to both."""
        other = Proving(
            self.store, required, commands_at=self._commands_at, journal=self._journal, when=self.when
        )
        other._passed, other.red = self._passed, self.red
        return other

    async def judged(self, judging: Judging) -> Tree:
        """The files that this claim is about: those that the first layer found."""
        if self._judged[0] is not judging:
            self._judged = (judging, await self.store.snapshot())
        return self._judged[1]

    async def is_still_judged(self, judging: Judging) -> bool:
        """What would be accepted is what was judged."""
        return await self.store.snapshot() == await self.judged(judging)

    def _unproven(self, tree: Tree) -> list[RequiredCommand]:
        return [required for required in self.required if (tree.digest, required) not in self._passed]

    async def run(
        self,
        tree: Tree,
        judging: Judging,
        slug: str,
        *,
        is_excused: Callable[[CommandVerdict], bool] = lambda _: False,
    ) -> Ran:
        """All commands on these files, until one fails that is not excused."""
        if not (required := self._unproven(tree)):
            return Ran()
        seconds = 0.0
        async with self.store.checkout(tree) as checkout:
            async for trial in self.trials(checkout, judging, slug, required, rerun=True):
                seconds += trial.verdict.seconds
                verdict = await self._without_rewriting(trial.verdict, checkout, tree)
                if verdict.passed:
                    self._passed.add((tree.digest, trial.required))
                elif not is_excused(verdict):
                    log_file = self._journal.name_of(trial.log)
                    return Ran(seconds, trial.required.label, verdict, log_file, checkout.left_out)
        return Ran(seconds)

    async def _without_rewriting(
        self, verdict: CommandVerdict, checkout: Checkout, tree: Tree
    ) -> CommandVerdict:
        """Code that is built or imported may write other tests in place of those that are there, and pass them."""
        if not verdict.passed:
            return verdict
        tests = (path for path in tree.files if is_test(path) and is_code(path))
        altered = await self.store.altered(checkout, tree, tests)
        return replace(verdict, passed=False, reason=f"it rewrote {named(altered)}") if altered else verdict

    async def trials(
        self,
        checkout: Checkout,
        occasion: Occasion,
        slug: str,
        required: Sequence[RequiredCommand],
        *,
        rerun: bool = False,
    ) -> AsyncIterator[Trial]:
        """Each command in a checkout, one after the other."""
        async with self._commands_at(checkout) as commands:
            for number, each in enumerate(required, 1):
                log = self._journal.check_log(occasion.iteration, f"{slug}_{number}")
                verdict = await commands.run(
                    each, log=log, control=occasion.control, publish=occasion.publish, rerun=rerun
                )
                yield Trial(each, verdict, log)


def named(paths: Sequence[str]) -> str:
    """Some of them, by name."""
    more = f" and {len(paths) - SHOWN_FILES} more" if len(paths) > SHOWN_FILES else ""
    return ", ".join(sorted(paths)[:SHOWN_FILES]) + more
