"""What one session made of the working tree: how many files, and of the first few what is in them."""

from __future__ import annotations

from ralph.values import dataclass

MOST_NAMED = 4
"""Files of which more is known than that they were changed."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """``before`` and ``after`` tell one content from another; zeros: git does not see it; empty: not known."""

    path: str
    before: str = ""
    after: str = ""
    back_before: int = 0  # the iteration before which it was as it is now; 0: none that is known
    digest: str = ""  # of the whole path, where ``path`` is only what is shown of it

    @property
    def key(self) -> tuple[str, str]:
        """The same for one file only: what is shown of long names may be alike."""
        return self.path, self.digest

    @property
    def has_content(self) -> bool:
        """Known to be there: what git does not see may only be ignored."""
        return bool(self.after.strip("0"))


@dataclass(frozen=True, slots=True)
class SessionChange:
    files: int = 0
    named: tuple[ChangedFile, ...] = ()
