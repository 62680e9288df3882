"""What became of the files that prove the work, between where a task began and now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralph.domain.proof.build_files import changed_sections
from ralph.domain.proof.protected_paths import Guard, Protection, is_test
from ralph.domain.proof.weakened_tests import weakened

SHOWN = 20


@dataclass(frozen=True, slots=True)
class FileState:
    """One file then and now; None: it was not there. Content as bytes: not every test file is text."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Finding:
    """``path`` was changed in a way that is not the worker's to choose."""

    path: str
    what: str


def findings(protection: Protection, states: Sequence[FileState], *, had_tests: bool) -> tuple[Finding, ...]:
    """``states`` are the files that differ; ``had_tests``: the project had tests where the task began."""
    found: list[Finding] = []
    for state in states:
        guard = protection.guard(state.path)
        if guard is not None:
            found += [
                Finding(state.path, what) for what in _of(guard, state, protection, had_tests=had_tests)
            ]
    return tuple(found)


def _of(guard: Guard, state: FileState, protection: Protection, *, had_tests: bool) -> list[str]:
    before, after = _text(state.before), _text(state.after)
    if state.before is not None and state.after is not None and before is not None and before == after:
        return []  # only its line ends differ
    match guard:
        case Guard.SECTIONS:
            if state.before is None and not had_tests:
                return []
            if (state.before is not None and before is None) or (state.after is not None and after is None):
                return ["can no longer be read as text"]
            changed = changed_sections(state.path, before or "", after, protection.targets)
            return [f"decides what is verified, and was changed: {', '.join(changed)}"] if changed else []
        case Guard.TESTS:
            return _tests(state, before, after, had_tests=had_tests)
        case Guard.KEPT if state.before is None:
            return []
        case Guard.RUNNER if state.before is None and not had_tests:
            return []
        case _:
            return [_plainly(state)]


def _tests(state: FileState, before: str | None, after: str | None, *, had_tests: bool) -> list[str]:
    if state.after is None:
        return ["was deleted, or moved away"]
    if state.before is None:
        is_hooks = state.path.rsplit("/", 1)[-1] == "conftest.py" and had_tests and after is not None
        return weakened(state.path, "", after or "") if is_hooks else []
    if before is None or after is None:
        return ["was changed"]
    return weakened(state.path, before, after)


def _plainly(state: FileState) -> str:
    if state.after is None:
        return "was deleted, or moved away"
    return "was added" if state.before is None else "was changed"


def tell_agent(found: Sequence[Finding], base: str) -> str:
    """What the agent is told: what is wrong, and how to undo it."""
    listed = "\n".join(f"- {one.path}: {one.what}" for one in found[:SHOWN])
    more = f"\n- … and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return (
        "Verification failed: files that prove the work were changed. Tests may be added, but those that are there "
        "must stay as they were, and so must whatever decides what is verified:\n"
        f"{listed}{more}\n"
        f"Put them back with `git checkout {base[:12]} -- FILE` (delete what was added), and fix the code instead. If "
        "the task cannot be done without such a change, say so and why; a person must allow it (mayChange)."
    )


def summary(found: Sequence[Finding], extended: Sequence[str]) -> str:
    if found:
        names = ", ".join(dict.fromkeys(one.path for one in found))
        return f"changed what proves the work: {names[:300]}"
    tests = [path for path in extended if is_test(path)]
    if not tests:
        return "what proves the work is as it was"
    return f"{len(tests)} test {'file' if len(tests) == 1 else 'files'} added or extended"


def _text(content: bytes | None) -> str | None:
    """None if there is none, or if it is no text."""
    if content is None or b"\0" in content[:8_000]:
        return None
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
