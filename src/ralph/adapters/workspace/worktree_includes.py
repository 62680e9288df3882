"""``.worktreeinclude``: which of the files that git ignores a new worktree gets a copy of, such as ``.env``.

The file is at the top of the repository and has the syntax of .gitignore, as other tools have it: a file is copied if it
matches and git ignores it; none that git tracks, no link, and nothing over what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import write_private
from ralph.adapters.git import Git
from ralph.adapters.workspace.setup_marks import SetupMarks, place_copy
from ralph.domain.trust.demand import Demand
from ralph.values import dataclass

FILE = ".worktreeinclude"
MOST_BYTES = 100_000


def include_demands(top: Path) -> tuple[Demand, ...]:
    """A repository brings its file along: which of their ignored files agents see is the user's to say."""
    content = beneath.read_whole(top / FILE, MOST_BYTES, top) or b""
    lines = (line.strip() for line in content.decode("utf-8-sig", errors="replace").splitlines())
    patterns = [line for line in lines if line and not line.startswith("#")]
    return (
        (Demand("copies into worktrees the ignored files that match", patterns, FILE, FILE),)
        if patterns
        else ()
    )


def agreed_includes(demands: Iterable[Demand]) -> bytes:
    """What the user was shown: neither what the file got meanwhile, nor what git would read otherwise than they did."""
    found = [one.value for one in demands if one.source == FILE]
    patterns = [str(line) for value in found if isinstance(value, list) for line in value]
    return "".join(f"{line}\n" for line in patterns).encode()


@dataclass(frozen=True, slots=True)
class WorktreeIncludes:
    """``content``: what the user agreed to of the file, one pattern a line."""

    git: Git  # at the top of the user's checkout
    content: bytes
    marks: SetupMarks

    async def copy_to(self, path: Path) -> None:
        """Raises GitFailed or OSError."""
        if not self.content:
            return
        top, patterns = self.git.root, self.marks.folder / f"{path.name}.include"
        write_private(patterns, self.content)
        listing = ("ls-files", "--others", "--ignored", "-z")
        fits = await self.git.must(*listing, f"--exclude-from={patterns.absolute()}", "--", *self.git.not_own)
        ignored = await self.git.must(*listing, "--exclude-standard", "--", *self.git.not_own)
        beneath.remove(patterns, self.marks.folder)
        for name in sorted(set(fits.names) & set(ignored.names)):
            if not name.endswith("/") and not beneath.read_link(top / name, top):
                with suppress(FileExistsError, FileNotFoundError, beneath.LinkInTheWay):
                    place_copy(top / name, path / name, top, path, self.marks)
