"""What became of the files that prove the work, and what of it is not the worker's to choose."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from ralph.domain.proof.build_files import changed_sections
from ralph.domain.proof.inner_tests import inner_weaknesses
from ralph.domain.proof.makefiles import is_makefile
from ralph.domain.proof.protection import Guard, Protection, is_found_alike, is_test
from ralph.values import dataclass

SHOWN = 20
NAMED = 3
"""As many as a line on the screen has room for."""


@dataclass(frozen=True, slots=True)
class FileState:
    """One file then and now; None: it was not there. Content as bytes: not every test file is text."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Finding:
    """``path`` was changed in a way that is not the worker's to choose. ``is_test``: but a task may demand it."""

    path: str
    what: str
    is_test: bool = False


def findings(
    protection: Protection, states: Sequence[FileState], *, known: Collection[str]
) -> tuple[Finding, ...]:
    """``states`` are the files that differ; ``known`` are the paths of all files that the work began with."""
    moved = _moved(protection, states)
    had_tests = any(map(is_test, known))
    return tuple(
        Finding(state.path, what, is_test=guard in (Guard.TESTS, Guard.INNER))
        for state in states
        if state.path not in moved and (guard := protection.guard(state.path)) is not None
        for what in _wrong_with(guard, state, protection, known, had_tests=had_tests)
    )


def _moved(protection: Protection, states: Sequence[FileState]) -> frozenset[str]:
    """Tests that have the same content under another name by which they are found as before."""
    new = {
        state.after: state.path
        for state in states
        if state.before is None and state.after and is_test(state.path)
    }
    return frozenset(
        state.path
        for state in states
        if state.after is None
        and protection.guard(state.path) is Guard.TESTS
        and state.before in new
        and is_found_alike(state.path, new[state.before])
    )


def _wrong_with(
    guard: Guard, state: FileState, protection: Protection, known: Collection[str], *, had_tests: bool
) -> list[str]:
    before, after = _text(state.before), _text(state.after)
    if state.before is not None and state.after is not None and before is not None and before == after:
        return []  # only its line ends differ
    match guard:
        case Guard.SECTIONS:
            if state.before is None and is_makefile(state.path):
                return _new_makefile(state, known)
            if state.before is None and not had_tests and not _is_settings(state.path):
                return []
            if (state.before is not None and before is None) or (state.after is not None and after is None):
                return ["can no longer be read as text"]
            changed = changed_sections(state.path, before or "", after, protection.scope)
            return [f"decides what is verified, and was changed: {', '.join(changed)}"] if changed else []
        case Guard.TESTS:
            if state.before is None and any(path.startswith(f"{state.path}/") for path in known):
                return ["stands where a folder was"]
            return _tests(state, before, after, had_tests=had_tests)
        case Guard.INNER:
            return inner_weaknesses(state.path, before or "", after or "") if state.before is not None else []
        case Guard.NOT_MADE:
            return ["was added, and would be loaded in place of Python's or the runner's own module: name it differently"] if state.before is None else []  # fmt: skip
        case Guard.KEPT if state.before is None:
            return []
        case Guard.RUNNER if state.before is None and not had_tests:
            return []
        case _:
            return [_what_happened(state)]


def _is_settings(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith("settings")


def _new_makefile(state: FileState, known: Collection[str]) -> list[str]:
    """One in a folder that has another may be read in its place."""
    folder = state.path.rpartition("/")[0]
    is_beside = any(is_makefile(path) and path.rpartition("/")[0] == folder for path in known)
    return ["was added, and make may read it instead"] if is_beside and not state.path.endswith(".mk") else []


def _tests(state: FileState, before: str | None, after: str | None, *, had_tests: bool) -> list[str]:
    from ralph.domain.proof.weakened_tests import weaknesses  # only a claim with changed tests pays for it

    if state.after is None:
        return [_what_happened(state)]
    if state.before is None:
        is_hooks = state.path.rsplit("/", 1)[-1] == "conftest.py" and had_tests and after is not None
        return weaknesses(state.path, "", after or "") if is_hooks else []
    if before is None or after is None:
        return ["was changed"]
    return weaknesses(state.path, before, after)


def _what_happened(state: FileState) -> str:
    if state.after is None:
        return "was deleted, or moved away"
    return "was added" if state.before is None else "was changed"


def tell_agent(found: Sequence[Finding], base: str = "") -> str:
    """What the agent is told: what is wrong, and how to undo it. ``base``: the commit that the work began with."""
    listed = "\n".join(f"- {one.path}: {one.what}" for one in found[:SHOWN])
    more = f"\n- … and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return (
        "Verification failed: files that prove the work were changed. Tests may be added, but those that are there "
        "must stay as they were, and so must whatever decides what is verified:\n"
        f"{listed}{more}\n"
        f"Put them back {way_back(base)} (delete what was added), and fix the code instead. If the task cannot be done without "
        "such a change, say so and why; a person must allow it (mayChange, --allow-test-changes)."
    )


def way_back(base: str) -> str:
    """How files are put back; ``base``: the commit that the work began with, empty if there is none."""
    return f"with `git checkout {base[:12]} -- FILE`" if base else "as they were when the work began"


def way_out(found: Sequence[Finding]) -> str:
    """How a person allows it, in a line for the screen."""
    setting = ", or with `tests` in the settings" if found and all(one.is_test for one in found) else ""
    files = dict.fromkeys(one.path for one in found)
    named = [f"--allow-test-changes {shlex.quote(path)}" for path in files] if 0 < len(files) <= NAMED else []
    return f"if the task demands it, allow it with {' '.join(named) or '--allow-test-changes FILE'}{setting}"


def summary(found: Sequence[Finding], extended: Sequence[str]) -> str:
    if found:
        names = ", ".join(dict.fromkeys(one.path for one in found))
        return f"changed what proves the work: {names[:300]}"
    tests = [path for path in extended if is_test(path)]
    if not tests:
        return "what proves the work is unchanged"
    return f"{len(tests)} test {'file' if len(tests) == 1 else 'files'} added or extended"


def _text(content: bytes | None) -> str | None:
    """None if there is none, or if it is no text."""
    if content is None or b"\0" in content[:8_000]:
        return None
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
