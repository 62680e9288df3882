"""Files of the working tree that git's configuration includes: git obeys them as they are now, not as they were agreed to.

They are read-only for an agent where it works, but what it commits may be merged or checked out, by ralph itself.
"""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.files import read_whole
from ralph.adapters.git_folders import git_folders, included_in_tree
from ralph.errors import ConfigError

_MOST_BYTES = 1_000_000


class IncludedFiles:
    """Of the repository that contains ``workspace``, as they were when the run began."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._known = self._contents()

    def require_unchanged(self) -> None:
        """Before a git of ours. Raises ConfigError."""
        now = self._contents()
        for file in {**self._known, **now}:
            if self._known.get(file) != now.get(file):
                message = f"{file}, which git's configuration includes, has changed since the run began"
                hint = "look at it: git would obey it from now on; then `ralph resume` continues"
                raise ConfigError(message, hint=hint)

    def _contents(self) -> dict[Path, bytes | None]:
        folders = git_folders(self._workspace)
        files = [] if folders is None else included_in_tree(folders)
        return {file: read_whole(file, _MOST_BYTES) for file in files}
