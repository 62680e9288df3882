"""The programs that ralph runs for itself (git, sh, env, bwrap …): found once, where no agent and no repository can put them.

They come from the PATH that ralph was started with, never from settings. A folder of a project may well be on it, as
``.venv/bin`` is; an agent confined to the project could leave a ``git`` there, and ours would run it outside.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property

from ralph.adapters.way import way_to
from ralph.domain.sandbox.own_environment import own_variables


class OwnPrograms:
    """``environ``: what ralph was started with. ``reach``: folders in which others write: the workspace, its worktrees, the
    records, whatever a confined agent may write."""

    def __init__(
        self, environ: Mapping[str, str] = os.environ, reach: Iterable[str | os.PathLike[str]] = ()
    ) -> None:
        self._environ = environ
        self._reach = tuple(dict.fromkeys(os.path.realpath(folder) for folder in reach))
        self._found: dict[str, str | None] = {}

    @cached_property
    def environment(self) -> dict[str, str]:
        """For our own programs while an agent is confined: without variables that it could make use of."""
        return {**own_variables(self._environ, self.is_reached), "PATH": os.pathsep.join(self._folders)}

    def find(self, name: str) -> str | None:
        """Absolute; None if it is not installed, or only where others write."""
        if name not in self._found:
            places = (f"{folder}/{name}" for folder in self._folders)
            self._found[name] = next((place for place in places if self._is_program(place)), None)
        return self._found[name]

    def is_reached(self, path: str) -> bool:
        """Whether anyone who may write in the reach decides what ``path`` is: it, or a link on the way to it, is there."""
        return any(
            at == folder or at.startswith(f"{folder}/") for at, *_ in way_to(path) for folder in self._reach
        )

    @cached_property
    def reached_folders(self) -> tuple[str, ...]:
        """Folders on PATH where others write."""
        return tuple(folder for folder in self._listed if folder.startswith("/") and self.is_reached(folder))

    @cached_property
    def vague_folders(self) -> tuple[str, ...]:
        """Entries of PATH that mean another folder wherever one is."""
        return tuple(folder for folder in self._listed if not folder.startswith("/"))

    @cached_property
    def _listed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self._environ.get("PATH") or os.defpath).split(os.pathsep)))

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        left_out = {*self.reached_folders, *self.vague_folders}
        return tuple(folder for folder in self._listed if folder not in left_out)

    def _is_program(self, path: str) -> bool:
        return os.path.isfile(path) and os.access(path, os.X_OK) and not self.is_reached(path)  # noqa: PTH113


def links_to(path: str) -> list[str]:
    """The links on the way to ``path``, each by its real place."""
    return [step.place for step in way_to(path) if step.is_link]
