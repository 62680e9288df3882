"""Which files prove the work, and so are not the worker's to change; and what became of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from ralph.domain.proof.build_files import changed_sections, is_makefile, scripts_in, targets_in
from ralph.domain.proof.tests_ran import runs_tests
from ralph.domain.proof.weakened_tests import weaknesses


class Guard(StrEnum):
    """How a file is protected."""

    WHOLE = "whole"  #: not changed, made or deleted
    RUNNER = "runner"  #: the same, but where there are no tests yet it may be made
    KEPT = "kept"  #: may be made, but what is there stays
    SECTIONS = "sections"  #: only what decides about verification stays
    TESTS = "tests"  #: may be made and extended


_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|testdata|__snapshots__|e2e)/|(?:^|/)spec/.*\.(?:rb|[cm]?[jt]sx?)$"
    r"|(?:^|/)(?:test_[^/]*\.py|[^/]*_test\.(?:py|go|rs|rb|exs|dart|cc|cpp|c)|tests?\.(?:py|rs)"
    r"|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?|[^/]*_spec\.rb|[^/]*Tests?\.(?:java|kt|cs|php|swift)|[^/]*\.bats)$"
)
# Whatever of these appears decides what a test runner runs, from wherever it lies.
_RUNNERS_OWN = re.compile(
    r"(?:^|/)(?:\.?pytest\.ini|tox\.(?:ini|toml)|\.coveragerc|(?:jest|vitest|playwright|karma|cypress)\.conf(?:ig)?"
    r"\.[cm]?[jt]s(?:on)?|\.mocharc[^/]*|mypy\.ini|\.mypy\.ini|\.?ruff\.toml|\.flake8|\.pylintrc|\.?eslint\.config\.[^/]*"
    r"|\.eslintrc[^/]*|\.cargo/config(?:\.toml)?|nextest\.toml)$"
)
# Python imports these before anything else, or in place of the runner.
_SHADOWS = re.compile(
    r"(?:^|/)(?:site|user)customize\.pyc?$|^(?:src/)?(?:pytest|_pytest|unittest|pluggy)(?:\.(?:py|pyc|so)|/__init__\.pyc?)$"
)
_ALWAYS = re.compile(r"^\.ralph/|(?:^|/)\.gitattributes$|^\.gitmodules$")
_KEPT = re.compile(
    r"^\.github/workflows/|^\.gitlab-ci\.yml$|^\.circleci/|^azure-pipelines\.yml$|^Jenkinsfile$|^\.travis\.yml$|^\.ci/"
    r"|^\.pre-commit-config\.yaml$|^\.buildkite/"
)
_SECTIONS = re.compile(r"(?:^|/)(?:pyproject\.toml|setup\.cfg|package\.json|Cargo\.toml)$")
_TASK_RUNNERS = re.compile(r"(?:^|/)(?:[Jj]ustfile|Taskfile\.ya?ml|Rakefile|noxfile\.py)$")
FOREIGN = frozenset(
    (
        ".git", "node_modules", ".venv", "venv", "site-packages", ".tox", ".nox", "__pycache__", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", "target",
    )
)  # fmt: skip
"""Folders of programs, not of the project: what is in them counts only if it is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """``protect`` and ``may_change`` are patterns of the user; ``scripts`` are what the commands run."""

    protect: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    scripts: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()  # of make
    tests: bool = False

    @classmethod
    def of(
        cls,
        commands: Iterable[tuple[str, str]],
        *,
        protect: Iterable[str] = (),
        may_change: Iterable[str] = (),
    ) -> Protection:
        """From all commands that verify the work, each with the folder it is run in."""
        pairs = tuple(commands)
        return cls(
            protect=tuple(protect),
            may_change=tuple(may_change),
            scripts=frozenset().union(*(scripts_in(command, folder) for command, folder in pairs)),
            tests=any(runs_tests(command) for command, _ in pairs),
            targets=frozenset().union(*(targets_in(command) for command, _ in pairs)),
        )

    def guard(self, path: str) -> Guard | None:
        """None: anyone may change it."""
        if matches_any(path, self.may_change):
            return None
        if matches_any(path, self.protect) or _ALWAYS.search(path) or _SHADOWS.search(path):
            return Guard.WHOLE
        if path in self.scripts or _KEPT.search(path) or _TASK_RUNNERS.search(path):
            return Guard.KEPT
        if _SECTIONS.search(path) or (self.targets and is_makefile(path)):
            return Guard.SECTIONS
        if _RUNNERS_OWN.search(path):
            return Guard.RUNNER
        if path.rsplit("/", 1)[-1] == "conftest.py" or (self.tests and _TESTS.search(path)):
            return Guard.TESTS
        return None


def is_test(path: str) -> bool:
    return _TESTS.search(path) is not None


# --- patterns ---

_PARTS = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]/]+\]|[^*?\[]+|\[")


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)


def matches(path: str, pattern: str) -> bool:
    """``path`` is relative, with ``/``. A pattern without a slash fits at any depth; one that names a folder fits all in it."""
    return _compile(pattern).fullmatch(path) is not None


@lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    bare = pattern.strip().removeprefix("./")
    is_anchored = "/" in bare.rstrip("/")
    bare = bare.strip("/")
    translated = "".join(map(_translate, _PARTS.findall(bare)))
    return re.compile(("" if is_anchored else "(?:.*/)?") + translated + "(?:/.*)?", re.DOTALL)


_SPECIAL = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translate(part: str) -> str:
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        inside = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[{'^' + inside[1:] if inside[0] == '!' else inside}]"
    return _SPECIAL.get(part) or re.escape(part)


# --- what became of them ---

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
    return tuple(
        Finding(state.path, what)
        for state in states
        if (guard := protection.guard(state.path)) is not None
        for what in _wrong_with(guard, state, protection, had_tests=had_tests)
    )


def _wrong_with(guard: Guard, state: FileState, protection: Protection, *, had_tests: bool) -> list[str]:
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
            return [_what_happened(state)]


def _tests(state: FileState, before: str | None, after: str | None, *, had_tests: bool) -> list[str]:
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
