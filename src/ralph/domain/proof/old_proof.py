"""What is put back before new code must pass the checks as they were when the work began, and what cannot be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ralph.domain.proof.comparison import Finding
from ralph.domain.proof.own_checks import folder_of, written_for
from ralph.domain.proof.protection import Guard, Protection, is_test
from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand
from ralph.domain.proof.scripts import first_named
from ralph.domain.proof.tests_ran import ran_no_test
from ralph.domain.proof.tree import Tree
from ralph.values import dataclass

CHANGED = "was changed, moved or deleted, and the checks fail with it as it was"
NEW = "is new, and the checks fail without it"


@dataclass(frozen=True, slots=True)
class OldProofPlan:
    """``put_back``: files as they were, and new ones left out. ``kept``: changed, because somebody allowed it.
    ``written``: what a command asks for, and was not there before.

    ``disputes``: tests that the task may demand as they are now, if the checks fail with what is put back: those that
    were there, or if that is not enough, the new ones as well. ``is_first``: there were no tests before, so there is
    no old proof.
    """

    put_back: tuple[str, ...]
    written: tuple[str, ...]
    kept: tuple[str, ...]
    disputes: tuple[tuple[Finding, ...], ...]
    is_first: bool
    are_old_tests_same: bool

    def excuses(self, verdict: CommandVerdict) -> bool:
        """Without the new tests there may be none for a command: that tells nothing, if the old ones are untouched."""
        return self.are_old_tests_same and ran_no_test(verdict.excerpt)


def plan_old_proof(
    tree: Tree,
    base: Tree,
    protection: Protection,
    required: Sequence[RequiredCommand],
    *,
    is_allowed: Callable[[str], bool],
) -> OldProofPlan:
    """``is_allowed``: a change of this test is one that the task demands."""
    differing = sorted(tree.differing(base))
    allowed = set(filter(is_allowed, differing))
    changed = [path for path in differing if protection.puts_back(path) and path not in allowed]
    # What a command asks for, and nobody had written yet, is not the worker's addition: the command could not run without.
    demanded = frozenset(
        path for each in required for path in _demanded(each, changed, tree, base, protection)
    )
    put_back = tuple(path for path in changed if path not in demanded)
    tests = [path for path in put_back if protection.guard(path) is Guard.TESTS]
    was_there = tuple(Finding(path, CHANGED, is_test=True) for path in tests if path in base.files)
    is_new = tuple(Finding(path, NEW, is_test=True) for path in tests if path not in base.files)
    return OldProofPlan(
        put_back,
        written=tuple(path for path in differing if path in demanded),
        disputes=tuple(dict.fromkeys(filter(None, (was_there, was_there + is_new)))),
        kept=tuple(path for path in differing if path in allowed or protection.is_exception(path)),
        is_first=all(map(is_test, put_back)) and not any(map(is_test, base.files)),
        are_old_tests_same=not any(is_test(path) and path in base.files for path in put_back),
    )


def _demanded(
    each: RequiredCommand, changed: Sequence[str], tree: Tree, base: Tree, protection: Protection
) -> Iterator[str]:
    yield from written_for(each, protection, tree, base)
    yield from first_named(each.command, folder_of(each, protection), changed, base.files)
