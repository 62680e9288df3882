"""Checks that the worker wrote itself, because nothing was there before: nobody else says what they are worth."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ralph.domain.proof.protection import Protection, is_found_by_name, is_test
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.scripts import first_named
from ralph.domain.proof.tests_ran import runs_tests
from ralph.domain.proof.tree import Tree
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.domain.proof.canary import Sighting


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """``files`` came with the work, and ``required`` runs them. ``in_doubt``: those that are no tests, and that nobody
    allowed; with them, it must be shown that the command can fail."""

    required: RequiredCommand
    files: tuple[str, ...]
    in_doubt: tuple[str, ...]


NAMED = 3


def own_checks(
    required: Sequence[RequiredCommand], protection: Protection, tree: Tree, base: Tree
) -> tuple[OwnCheck, ...]:
    """Of the commands that could not run when the work began, or had nothing to run."""
    new_tests = [path for path in tree.files if is_test(path) and path not in base.files]
    had_tests = any(map(is_test, base.files))
    found = []
    for each in required:
        written = tuple(written_for(each, protection, tree, base))
        is_first = not had_tests and runs_tests(each.command)
        tests = (
            new_tests
            if is_first
            else first_named(each.command, folder_of(each, protection), new_tests, base.files)
        )
        if files := tuple(dict.fromkeys((*written, *sorted(tests)))):
            doubt = (
                one for one in written if not is_found_by_name(one) and protection.guard(one) is not None
            )
            found.append(OwnCheck(each, files, tuple(doubt)))
    return tuple(found)


def written_for(each: RequiredCommand, protection: Protection, tree: Tree, base: Tree) -> Iterator[str]:
    """Files that have what a command asks for, and had not when the work began."""
    for absent in protection.absent:
        if (absent.command, posixpath.normpath(absent.folder)) == (each.command, folder_of(each, protection)):
            for place in absent.places:
                if place in tree.files and tree.files[place] != base.files.get(place):
                    yield place


def folder_of(each: RequiredCommand, protection: Protection) -> str:
    """Where it is run, from the top of the repository."""
    return posixpath.normpath(posixpath.join(protection.prefix, each.working_dir))


def left_out(now: Sighting, base: Tree) -> frozenset[str]:
    """Tests that were there when the work began, and that a check does not name though something in them must fail."""
    return frozenset(place for place in now.planted - now.seen if place in base.files)


def doubt_about(each: OwnCheck, now: Sighting, base: Tree) -> str:
    """Why nobody knows what such a check proves, given what it did with tests that must fail; empty if it shows them."""
    written = f"was written with the work and decides `{each.required.label}`, which"
    if not now.planted:
        return f"{written} runs no tests that could show whether it can fail"
    if not now.failed:
        return f"{written} does not turn red when a test fails"
    if not (missing := sorted(left_out(now, base))):
        return ""
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"{written} does not run tests that were there: {', '.join(missing[:NAMED])}{more}"
