"""What a finished worktree holds besides the work: which of it is worth keeping."""

from __future__ import annotations

from ralph.domain.proof.protection import FOREIGN

MADE_AGAIN = FOREIGN | {
    ".cache", ".eggs", ".gradle", ".next", ".nuxt", ".parcel-cache", ".svelte-kit", ".turbo", "bower_components",
    "htmlcov", ".nyc_output", ".ipynb_checkpoints", ".direnv", ".bundle", ".dart_tool", "elm-stuff", "_build",
    "Pods", "DerivedData", ".terraform", "target", "venv",
}  # fmt: skip
"""Folders whose content a program installs or builds again whenever it is needed."""
_SUFFIXES = (".pyc", ".pyo", ".egg-info", ".o", ".class", ".tsbuildinfo")
_NAMES = frozenset((".coverage", ".DS_Store", ".eslintcache", ".stylelintcache"))
MOST_NAMED = 5


def is_made_again(path: str) -> bool:
    """Of a file or folder that git ignores: whether a program makes it again by itself."""
    parts = path.rstrip("/").split("/")
    return not MADE_AGAIN.isdisjoint(parts) or parts[-1] in _NAMES or parts[-1].endswith(_SUFFIXES)


def kept_words(task: str, names: tuple[str, ...], folder: str) -> str:
    """What to tell the user."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    listed = f"{', '.join(names[:MOST_NAMED])}{more}"
    return f"{task}: git ignores {listed}, so it was not merged; it is kept in {folder}"
