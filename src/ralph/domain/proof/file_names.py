"""What a file is, by its name: code, or what running code leaves behind."""

from __future__ import annotations

from ralph.patterns import pattern

_CODE = pattern(
    r"\.(?:py|[cm]?[jt]sx?|go|rs|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|scala|sh|vue|svelte|pl|pm)$"
)
_COMPILED = frozenset(
    (
        "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage", ".cache",
        ".eslintcache", ".tsbuildinfo",
    )
)  # fmt: skip
_COMPILED_ENDINGS = (".pyc", ".pyo")


def is_code(path: str) -> bool:
    return _CODE.search(path) is not None


def is_compiled(path: str) -> bool:
    """What running the work leaves behind; nobody calls that a change."""
    return path.endswith(_COMPILED_ENDINGS) or not _COMPILED.isdisjoint(path.split("/"))
