"""What tests lean on outside of their own folders: data that they read, helpers, and what the runner is told to load."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping

from ralph.domain.proof.file_names import is_code
from ralph.domain.proof.protection import is_test
from ralph.domain.proof.scripts import module_files, named_for_loading
from ralph.patterns import pattern

Found = Iterable[tuple[str, str]]
"""A path, and what was found in that file."""

NAMED_DATA = r"""["'][A-Za-z0-9_.][A-Za-z0-9_./-]*/[A-Za-z0-9_.-]+["']"""
"""A path in quotes, as git finds it: looked for in tests."""
IN_TESTS = ("*[tT]est*", "*[sS]pec*")
FRAMEWORK = (
    r"^[[:space:]]*(import|from) (pytest|unittest|hypothesis|nose)([^A-Za-z_]|$)"
    r'|^[[:space:]]*(import )?"testing"$'
    r"|^import (static )?org\.(junit|testng|assertj|hamcrest)\."
)
"""Who uses a test framework helps tests, wherever it lies."""
SETTINGS = r"pytest_plugins|addopts|setupFiles|globalSetup|globalTeardown|testEnvironment|testRunner|snapshotSerializers|doctest|--import|--require"
IN_SETTINGS = (
    "*conftest.py", "*pyproject.toml", "*.ini", "*setup.cfg", "*package.json", "*.mocharc*", "*jest*", "*vite*",
)  # fmt: skip
_PROSE = pattern(r"\.(?:md|rst|adoc)$|(?:^|/)(?:LICENSE|README|CHANGELOG)[^/]*$")
_KEY = pattern(
    r"""(?:setupFiles\w*|globalSetup|globalTeardown|testEnvironment|testRunner|snapshotSerializers|require|import)["']?"""
    r"""\s*:\s*(\[[^\]]*\]|["'][^"'\n]+["'])"""
)
_PLUGINS = pattern(r"pytest_plugins\s*=\s*(\[[^\]]*\]|\([^)]*\)|[^\n]*)")
_QUOTED = pattern(r"""["']([^"'\n]+)["']""")
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx")
MOST_SHARE = 2
"""Where more than one in so many files of code uses a test framework, the project itself is about testing."""


def data_of_tests(found: Found, paths: Collection[str]) -> frozenset[str]:
    """Data files that tests name. ``found``: paths in quotes, by the test that has them."""
    named: set[str] = set()
    for test, quoted in found:
        name = quoted.strip("\"'")
        for folder in ("", posixpath.dirname(test)):
            path = posixpath.normpath(posixpath.join(folder, name))
            if path in paths and not is_code(path) and not _PROSE.search(path):
                named.add(path)
    return frozenset(named)


def helpers_in(found: Found, paths: Collection[str]) -> frozenset[str]:
    """Code that uses a test framework."""
    helpers = frozenset(path for path, _ in found if is_code(path))
    code = sum(1 for path in paths if is_code(path) and not is_test(path))
    return helpers if len(helpers) * MOST_SHARE <= code else frozenset()


def loaded_by(texts: Mapping[str, str], paths: Collection[str]) -> frozenset[str]:
    """What settings of test runners name to be loaded, by the files that they are in."""
    loaded: set[str] = set()
    for file, text in texts.items():
        for name in (*_named(text), *named_for_loading(text)):
            for folder in (posixpath.dirname(file), ""):
                path = posixpath.normpath(posixpath.join(folder, name))
                loaded.update(f"{path}{end}" for end in _ENDINGS if f"{path}{end}" in paths)
    return frozenset(loaded)


def _named(text: str) -> Iterator[str]:
    for value in _KEY.findall(text):
        for name in _QUOTED.findall(value):
            yield name.replace("<rootDir>/", "")
    for value in _PLUGINS.findall(text):
        for module in _QUOTED.findall(value):
            yield from module_files(module)
