"""What a change must not decide for its reviewer: which of its paths are taken from the base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ralph.adapters.git import Git
from ralph.domain.review.obeyed import IMPORT, OBEYED, imported, is_obeyed_link, led_to

MOST_LIST = 500_000_000
MOST_TARGET = 10_000
DEEPEST = 5
"""Files that name files that name files: agents follow no more."""
_LINK = "120000"


async def withheld(git: Git, commit: str, base: str) -> list[str]:
    """What agents obey, and what that leads to in the base by links and ``@path``, where the change touches it.

    Where a link of the change leads does not matter, for the link itself is that of the base.
    """
    patterns = [f":(glob,icase)**/{name}{rest}" for name in OBEYED for rest in ("", "/**")]
    links = await _links(git, base)
    obeyed = [path for path in links if is_obeyed_link(path)]
    reached = {place for path in obeyed for place in led_to(path, links)}
    reached.update(filter(is_obeyed_link, await _links(git, commit, is_read=False)))
    patterns += _literal(reached)
    asked = patterns
    for _ in range(DEEPEST):
        named = await _imports(git, base, asked)
        more = {place for path in named for place in led_to(path, links)} - reached
        if not more:
            break
        reached |= more
        asked = [*_literal(more)]
        patterns += asked
    only = ("--name-only", "-z", "--no-renames")
    return (await git.must("diff", *only, base, commit, "--", *patterns, most=MOST_LIST)).names


async def _links(git: Git, commit: str, *, is_read: bool = True) -> dict[str, str]:
    """By path, with where they lead."""
    listed = (await git.must("ls-tree", "-r", "-z", "--full-tree", commit, most=MOST_LIST)).names
    entries = (entry.partition("\t") for entry in listed if entry.startswith(_LINK))
    blobs = {path: about.split()[2] for about, _, path in entries}
    if not is_read:
        return dict.fromkeys(blobs, "")
    return {
        path: (await git.must("cat-file", "blob", blob, most=MOST_TARGET)).out for path, blob in blobs.items()
    }


async def _imports(git: Git, commit: str, patterns: Iterable[str]) -> list[str]:
    """The files that those files of a commit name."""
    found = await git.grep(IMPORT, *patterns, commit=commit, most=MOST_LIST)
    return [place for file, words in found for place in imported(file, words)]


def _literal(paths: Iterable[str]) -> Iterator[str]:
    return (f":(literal){path}" for path in sorted(paths))
