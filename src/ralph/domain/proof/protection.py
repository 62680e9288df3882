"""Which files decide whether work is proven, and so are not the worker's to change."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from ralph.domain.proof.absent import Absent, find_absent
from ralph.domain.proof.build_files import TOOLS, Scope, changed_sections
from ralph.domain.proof.file_names import is_code
from ralph.domain.proof.makefiles import is_makefile, targets_in
from ralph.domain.proof.scripts import Read, reach, scripts_in
from ralph.domain.proof.tests_ran import runs_tests
from ralph.patterns import pattern
from ralph.values import dataclass, replace


class Guard(StrEnum):
    """How a file is protected."""

    WHOLE = "whole"  #: not changed, made or deleted
    RUNNER = "runner"  #: the same, but where there are no tests yet it may be made
    KEPT = "kept"  #: may be made, but what is there stays
    NOT_MADE = "not made"  #: what is there is the project's own, but a new one would take another's place
    SECTIONS = "sections"  #: only what decides about verification stays
    TESTS = "tests"  #: may be made and extended
    INNER = "inner tests"  #: code; but the tests in it may only be extended


_TESTS = pattern(
    r"(?:^|/)(?:tests?|__tests__|testdata|__snapshots__|__mocks__|e2e)(?:/|$)|(?:^|/)spec/.*\.(?:rb|[cm]?[jt]sx?)$"
    r"|(?:^|/)(?:test_[^/]*\.py|[^/]*_test\.(?:py|go|rs|rb|exs|dart|cc|cpp|c|lua|ml|zig|erl)|tests?\.(?:py|rs)"
    r"|[^/]*[.-](?:test|spec)\.[cm]?[jt]sx?|[^/]*_spec\.(?:rb|lua)|[^/]*Tests?\.(?:java|kt|cs|fs|php|swift|scala|groovy)"
    r"|[^/]*Spec\.(?:scala|groovy|kt|hs)|[^/]*_SUITE\.erl|[^/]*\.(?:bats|t|feature|robot|snap|golden))$"
)
# What tests read and call, by names that say so.
_HELPS_TESTS = pattern(
    r"(?:^|/)(?:test|spec)[-_]?(?:utils?|helpers?|support|lib|kit|fixtures?|data|tools?|common|cases)(?:/|\.\w+$)"
    r"|(?:^|/)(?:asserts?|assertions?|matchers?|expect(?:ations?)?)\.(?:py|[cm]?[jt]sx?|go|rb|php)$"
    r"|(?:^|/)(?:goldens?|fixtures?|snapshots?|cassettes|approvals?|expected|testcases|cases)/(?:.*/)?[^/]*"
    r"(?<!\.py)(?<!\.[jt]s)(?<!\.[jt]sx)(?<!\.go)(?<!\.rs)(?<!\.java)(?<!\.rb)(?<!\.kt)(?<!\.md)$"
)
# Names by which runners find tests: a test that loses such a name is no longer run.
_FOUND_BY_NAME = pattern(
    r"(?:^|/)(?:test[^/]*\.py|[^/]*_test\.(?:py|go|rs|rb|exs|dart|cc|cpp|c)|[^/]*_spec\.rb|[^/]*\.bats"
    r"|[^/]*[._-](?:test|spec)\.[cm]?[jt]sx?|test[._-][^/]*\.[cm]?[jt]sx?|[^/]*(?:Tests?|TestCase|IT)\.(?:java|kt|cs|php|swift))$"
)
# Whatever of these appears decides what a test runner runs, from wherever it lies.
_RUNNERS_OWN = pattern(
    r"(?:^|/)(?:\.?pytest\.(?:ini|toml)|tox\.toml|\.coveragerc|nextest\.toml|phpunit\.xml(?:\.dist)?|\.rspec"
    r"|(?:jest|vitest|vite|playwright|karma|cypress|ava|babel|wdio|web-test-runner|tap)\.(?:conf|config|setup|workspace)"
    r"\.[cm]?[jt]s(?:on)?|\.mocharc[^/]*|\.babelrc[^/]*|\.swcrc|\.nycrc[^/]*|\.c8rc[^/]*|\.taprc|mocha\.opts"
    r"|\.npmrc|\.yarnrc[^/]*|\.pnpmfile\.cjs|pnpm-workspace\.yaml|bunfig\.toml|\.cargo/config(?:\.toml)?"
    r"|gradle\.properties|settings\.gradle(?:\.kts)?|junit-platform\.properties|[^/]*\.runsettings|noxfile\.py)$"
    r"|(?:^|/)(?:\.mvn|gradle/wrapper)/"
)
_LINT = pattern(
    r"(?:^|/)\.?(mypy|ruff|flake8|pylint|eslint|stylelint|pyright|pre-commit)(?:rc|[.-]?config)?(?:\.(?:ini|toml|json|[cm]?[jt]s|ya?ml))?$"
)
# Python and its installers load these by themselves.
_LOADED = pattern(
    r"(?:^|/)(?:(?:site|user)customize\.(?:pyc?|so)|[^/]*\.pth|[^/]*\.egg-link)$|\.(?:egg|dist)-info/"
)
_MODULE = pattern(r"^(?:src/|lib/)?([A-Za-z_]\w*)(?:\.(?:py|pyc|so|pyd)$|\.cpython-[^/]*$|/)")
_FOUND_FIRST = pattern(
    r"(?:^|/)node_modules/\.bin/"
)  # npm looks here for programs before it looks anywhere else
_ALWAYS = pattern(
    r"^\.gitmodules$|(?:^|/)\.gitattributes$|^\.ralph/(?!runs/|worktrees/)[^/]*(?:/|\.(?:json|toml|md|ya?ml)$)"
)
_CI = pattern(
    r"^\.(?:github|gitea|forgejo)/(?:workflows|actions)/|^\.gitlab-ci\.ya?ml$|^\.gitlab/ci/|^\.circleci/|^\.?azure-pipelines[^/]*\.ya?ml$"
    r"|^Jenkinsfile$|^\.travis\.yml$|^\.ci/|^\.buildkite/|^\.woodpecker(?:/|\.ya?ml$)|^\.drone\.ya?ml$|^bitbucket-pipelines\.yml$"
    r"|^appveyor\.yml$|^\.cirrus\.(?:yml|star)$"
)
_SECTIONS = pattern(
    r"(?:^|/)(?:pyproject\.toml|setup\.cfg|tox\.ini|package\.json|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?)$"
    r"|^\.ralph/settings[^/]*\.json$"
)
_TASK_RUNNERS = pattern(r"(?:^|/)(?:[Jj]ustfile|Taskfile\.ya?ml|Rakefile)$")
_OPAQUE = pattern(r"\b(?:tox|nox|pre-commit|just|task|rake|invoke|inv|poe|pdm|hatch|bazel)\b")
# A module of the project by one of these names is taken for Python's own, or for a part of the runner.
_MODULES = (
    frozenset(sys.stdlib_module_names) | {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "exceptiongroup", "py", "nose"}
) - {
    "test", "profile", "statistics", "secrets", "resource", "trace", "sched", "wave", "chunk", "http", "this", "turtle",
    "cgi", "crypt", "mailbox", "graphlib", "venv", "lib2to3",
}  # fmt: skip
FOREIGN = frozenset(
    (
        ".git", "node_modules", ".venv", "site-packages", ".tox", ".nox", "__pycache__", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis",
    )
)  # fmt: skip
"""Folders of programs, not of the project: names that no project gives to its own, as it may do with `target`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """``protect`` and ``may_change`` are patterns of the user; ``scripts`` are what the commands run.

    Paths are relative to the top of the repository; ``prefix`` is where the workspace lies in it, with a ``/`` at its end.
    """

    protect: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    scripts: frozenset[str] = frozenset()
    scope: Scope = Scope()
    tests: bool = False  # the commands run them
    tests_are_free: bool = False
    prefix: str = ""
    commands: tuple[tuple[str, str], ...] = ()
    leaned_on: frozenset[str] = frozenset()  # by tests, though it lies elsewhere
    programs: frozenset[str] = frozenset()  # folders in which commands look for programs first
    absent: tuple[Absent, ...] = ()  # what commands ask for, but was not there when the work began
    doctests: bool = False  # examples in docstrings are run
    ci: bool = False  # what the forge's CI does counts as proof too: none of its files may be made either

    @classmethod
    def of(
        cls,
        commands: Iterable[tuple[str, str]],
        *,
        protect: Iterable[str] = (),
        may_change: Iterable[str] = (),
        prefix: str = "",
    ) -> Protection:
        """From all commands that verify the work, each with the folder it is run in."""
        pairs = tuple(commands)
        return cls(
            protect=tuple(protect),
            may_change=tuple(may_change),
            scripts=frozenset().union(*(scripts_in(command, folder) for command, folder in pairs)),
            tests=any(runs_tests(command) for command, _ in pairs),
            scope=Scope(targets=frozenset().union(*(targets_in(command) for command, _ in pairs))),
            prefix=prefix,
            commands=pairs,
        )

    def following(self, read: Read) -> Protection:
        """With whatever the commands run in turn: scripts of scripts, of make targets and of package.json."""
        found = reach(self.commands, read)
        text = "\n".join(found.texts)
        is_known = not _OPAQUE.search(text)
        scope = Scope(
            targets=self.scope.targets | found.targets,
            package_scripts=frozenset(found.package_scripts) if is_known else None,
            tools=frozenset(tool for tool in TOOLS if tool in text) if is_known else None,
        )
        own = replace(self, scripts=self.scripts | found.scripts)
        return replace(
            own.leaning(loaded=found.loaded, data=found.data),
            programs=frozenset(found.programs),
            absent=tuple(find_absent(self.commands, read)),
            doctests=self.doctests or "doctest" in text,
            tests=self.tests or "doctest" in text or any(map(runs_tests, found.texts)),
            scope=scope,
        )

    def leaning(self, *, loaded: Iterable[str] = (), data: Iterable[str] = ()) -> Protection:
        """With what tests lean on: code that is ``loaded`` with them counts as a test, other such files as scripts, and
        ``data`` may be extended."""
        files = frozenset(loaded)
        code = frozenset(filter(is_code, files))
        return replace(
            self, scripts=self.scripts | (files - code), leaned_on=self.leaned_on | code | frozenset(data)
        )

    def without_exceptions(self) -> Protection:
        """What would be protected if the user had allowed nothing."""
        return replace(self, may_change=(), tests_are_free=False)

    def is_exception(self, path: str) -> bool:
        """Whether it would be protected, had the user not allowed it to change."""
        return self.guard(path) is None and self.without_exceptions().guard(path) is not None

    def guard(self, path: str) -> Guard | None:
        """None: anyone may change it."""
        own = path.removeprefix(self.prefix)
        if matches_any(own, self.may_change):
            return None
        if matches_any(own, self.protect):
            return Guard.WHOLE
        if not FOREIGN.isdisjoint(path.split("/")):
            return Guard.WHOLE if _FOUND_FIRST.search(path) else None
        if _LOADED.search(path):
            return Guard.WHOLE
        if _SECTIONS.search(own) or (self.scope.targets and is_makefile(path)):
            return Guard.SECTIONS
        if _ALWAYS.search(own):
            return Guard.WHOLE
        if is_ci(path):
            return Guard.WHOLE if self.ci else Guard.KEPT
        is_first = any(path.startswith(f"{folder}/") for folder in self.programs)
        if path in self.scripts or is_first or _TASK_RUNNERS.search(path):
            return Guard.KEPT
        if _RUNNERS_OWN.search(path) or ((lint := _LINT.search(path)) and self.scope.counts(lint[1])):
            return Guard.RUNNER
        if path.rsplit("/", 1)[-1] == "conftest.py" or (self.tests and self._is_of_tests(path, own)):
            return None if self.tests_are_free else Guard.TESTS
        if (module := _MODULE.match(own)) and module[1] in _MODULES:
            return Guard.NOT_MADE
        from ralph.domain.proof.inner_tests import may_hold_tests

        may_hold = self.tests and not self.tests_are_free and may_hold_tests(path, doctests=self.doctests)
        return Guard.INNER if may_hold else None

    def _is_of_tests(self, path: str, own: str) -> bool:
        return is_test(own) or path in self.leaned_on or _HELPS_TESTS.search(own) is not None

    def puts_back(self, path: str) -> bool:
        """Whether it is put back to judge new code by the old proof. What is compared by its sections is not: its
        dependencies may have changed. Neither is a test of Rust that is a part of the code, which declares it."""
        guard = self.guard(path)
        if guard is Guard.SECTIONS:
            return is_makefile(path)
        if guard is Guard.INNER:
            return False
        is_code = path.endswith(".rs") and "src" in path.split("/")
        return guard is not None and not is_code


def is_ci(path: str) -> bool:
    """Whether it says what the CI of a forge does."""
    return _CI.search(path) is not None


def is_test(path: str) -> bool:
    return _TESTS.search(path) is not None


def has_sections(path: str) -> bool:
    """Whether only parts of such a file decide what a check does."""
    return _SECTIONS.search(path) is not None


def decides_the_same(path: str, before: bytes, after: bytes) -> bool:
    """Whether checks do the same with either content of this file."""
    if before == after:
        return True
    old, new = (content.decode(errors="replace") for content in (before, after))
    return has_sections(path) and not changed_sections(path, old, new)


def is_read_from_below(path: str) -> bool:
    """Whether test runners that are started in a folder below look for it, though it may be no part of the project."""
    return bool(_RUNNERS_OWN.search(path) or (has_sections(path) and not path.endswith(".json")))


def is_found_by_name(path: str) -> bool:
    """Whether test runners take it for a test."""
    return _FOUND_BY_NAME.search(path) is not None


def is_found_alike(path: str, other: str) -> bool:
    """Whether test runners find two files by the same rules: both by name, or neither."""
    return path.rpartition(".")[2] == other.rpartition(".")[2] and bool(_FOUND_BY_NAME.search(path)) == bool(
        _FOUND_BY_NAME.search(other)
    )


# --- patterns ---

_PARTS = pattern(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]/]+\]|[^*?\[]+|\[")


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
