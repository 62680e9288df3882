"""Compares whatever decides a check with what it was when the work began, on every claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.comparison import FileState, Finding, findings, summary, tell_agent, way_out
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.own_checks import OwnCheck, own_checks
from ralph.domain.proof.protection import Protection, matches_any
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tests_policy import TestsPolicy
from ralph.domain.proof.tree import Tree
from ralph.engine.ports import Judging, When
from ralph.engine.proof.changed_tests import ChangedTests
from ralph.engine.proof.ports import ProofStore
from ralph.engine.proof.proving import named
from ralph.errors import GitFailed
from ralph.values import dataclass

SHOWN_LINES = 4
HIDDEN = (
    "is outside of the work, but test runners read it, and it was changed meanwhile: undo that if you did it"
)
JUDGES = "is the agent's own program, which judges too, and was changed"


@dataclass(frozen=True, slots=True)
class Compared:
    """``pending``: tests that nobody has reviewed as they are. ``guarded``: all that differs, allowed or not, and
    ``programs``: those of agents."""

    denied: tuple[Finding, ...]
    pending: tuple[Finding, ...]
    guarded: tuple[FileState, ...]
    settings: tuple[FileState, ...]
    programs: tuple[str, ...]
    own: tuple[OwnCheck, ...]


class ComparisonCheck:
    """Denies whatever is not the worker's to change; about tests that the task may demand, ``tests`` decides."""

    name: str = LayerName.PROTECTION
    command = ""

    def __init__(
        self,
        store: ProofStore,
        protection: Protection,
        changed: ChangedTests,
        *,
        tests: TestsPolicy,
        when: When = When.WITH_CLAIM,
        base: str = "",
        settings: Mapping[str, bytes | None] | None = None,
        read_settings: Callable[[], Mapping[str, bytes | None]] = dict,
        settings_deny: bool = True,
        changed_programs: Callable[[], Sequence[str]] = tuple,
        required: Sequence[RequiredCommand] = (),
        taken: str = "",
    ) -> None:
        """``base``: the commit that the work began with, if files can be put back from there. ``settings``: the
        user's, which git may not know, as they were loaded; ``read_settings`` reads them again to report a change.
        ``changed_programs``: agents' own files that are no longer what they were, also where git does not look.
        ``taken``: what was changed while no session was under way, and counts as the user's."""
        self.when = when
        self._read_settings = read_settings
        self._settings = dict(settings or {})
        self._settings_deny = settings_deny
        self._changed_programs = changed_programs
        self._told: dict[str, bytes | None] = {}
        self._store = store
        self._protection = protection
        self._changed = changed
        self._tests = tests
        self._base = base
        self._required = required
        self._taken = taken

    async def run(self, judging: Judging) -> CheckResult:
        try:
            found = await self.compare()
        except GitFailed as error:
            return CheckResult(
                self.name, Verdict.ERRORED, feedback=Feedback(error.message), reason=error.message
            )
        self._changed.pending = found.pending
        allowed = "; ".join(filter(None, (self._allowed(found), tell_written(found.own))))
        concern = "; ".join(filter(None, (self._concern(found.settings), self._taken, allowed)))
        if denied := found.denied:
            lines = tuple(f"{one.path}: {one.what}" for one in denied[:SHOWN_LINES])
            return CheckResult(
                self.name,
                Verdict.FAILED,
                feedback=Feedback(self.tell(denied)),
                reason=summary(denied, ()),
                last_lines=(*lines, way_out(denied)),
                concern=concern,
            )
        reason = allowed or summary((), [state.path for state in found.guarded])
        if found.pending:
            names = ", ".join(dict.fromkeys(one.path for one in found.pending))
            reason = f"tests were changed, and are reviewed before the work is accepted: {names[:300]}"
            reason = f"{reason}; {allowed}" if allowed else reason
        return CheckResult(self.name, Verdict.PASSED, reason=reason, concern=concern)

    async def compare(self) -> Compared:
        """What is not the worker's to change, as it is now. Raises GitFailed."""
        tree = await self._store.snapshot()
        guarded = await states_of(self._store, tree, self._protection.without_exceptions())
        hidden = [
            Finding(path, HIDDEN)
            for path in await self._store.list_above()
            if path not in tree.files and not matches_any(path, self._protection.may_change)
        ]
        states = [state for state in guarded if self._protection.guard(state.path) is not None]
        settings = self._changed_settings()
        if self._settings_deny:
            states += [state for state in settings if state.path not in tree.files]
        programs = self._changed_programs()
        found = (
            *(Finding(path, JUDGES) for path in programs if not self._may_change(path)),
            *(
                one
                for one in findings(self._protection, states, known=self._store.base.files.keys())
                if one.path not in programs
            ),
            *hidden,
        )
        denied = [one for one in found if not one.is_test or self._tests is TestsPolicy.LOCKED]
        return Compared(
            tuple(denied),
            self._pending(found, tree),
            tuple(guarded),
            tuple(settings),
            tuple(programs),
            own_checks(self._required, self._protection, tree, self._store.base),
        )

    def tell(self, denied: Sequence[Finding]) -> str:
        """What the agent is told about it."""
        return tell_agent(denied, self._base)

    def _may_change(self, path: str) -> bool:
        return matches_any(path.removeprefix(self._protection.prefix), self._protection.may_change)

    def _allowed(self, compared: Compared) -> str:
        """What would be denied or reviewed, had the user not allowed it."""
        known = self._store.base.files.keys()
        found = findings(self._protection.without_exceptions(), compared.guarded, known=known)
        paths = dict.fromkeys(one.path for one in found if self._protection.is_exception(one.path))
        paths |= dict.fromkeys(filter(self._may_change, compared.programs))
        return f"what proves the work was changed, as you allowed: {named(list(paths))}" if paths else ""

    def _changed_settings(self) -> list[FileState]:
        now = self._read_settings()
        return [
            FileState(path, before, now[path])
            for path, before in self._settings.items()
            if now[path] != before
        ]

    def _concern(self, changed: Sequence[FileState]) -> str:
        """Told once for each change."""
        new = [state for state in changed if self._told.get(state.path) != state.after]
        self._told.update({state.path: state.after for state in new})
        if not new:
            return ""
        names = ", ".join(state.path.rpartition("/")[2] for state in new)
        return f"{names} changed during the work, which still uses what it said before"

    def _pending(self, found: Sequence[Finding], tree: Tree) -> tuple[Finding, ...]:
        if self._tests is not TestsPolicy.REVIEWED:
            return ()
        return tuple(one for one in found if one.is_test and not self._changed.allows(one.path, tree))


def tell_written(own: Sequence[OwnCheck]) -> str:
    """What nobody but the worker stands for: it must not pass for what was there."""
    return "; ".join(
        f"the worker wrote what `{each.required.label}` runs: {named(each.files)}" for each in own
    )


async def states_of(store: ProofStore, tree: Tree, protection: Protection) -> list[FileState]:
    """Protected files that differ from what the work began with. Raises GitFailed."""
    states = []
    for path in sorted(tree.differing(store.base)):
        before, after = store.base.files.get(path), tree.files.get(path)
        if protection.guard(path) is not None and not (
            before and after and before.object_id == after.object_id
        ):
            states.append(
                FileState(
                    path,
                    None if before is None else await store.content(before),
                    None if after is None else await store.content(after),
                )
            )
    return states
