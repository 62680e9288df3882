"""Keep a small state: one named JSON document, of a project or of a user."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from ralph.adapters.clock import SystemClock
from ralph.adapters.storage.state_files import Decode, StateFile, StateLocation, global_folder, local_folder
from ralph.operations.current_project import Report, project, warn

T = TypeVar("T")


class StateManager(Generic[T]):
    """``<name>.json`` in ``.ralph/state`` of the project (local) or of the user (global).

    Without ``decode`` and ``encode`` the state is any JSON object, as a dict. The project is found again at each
    call unless ``root`` names it, so that one manager can serve a program that changes directory.
    """

    def __init__(
        self,
        name: str,
        location: StateLocation | str = StateLocation.LOCAL,
        *,
        root: Path | None = None,
        decode: Decode[T] | None = None,
        encode: Callable[[T], Mapping[str, object]] | None = None,
        report: Report = warn,
    ) -> None:
        self._name = name
        self._location = StateLocation(location)
        self._root = root
        self._decode = decode or cast("Decode[T]", _object)
        self._encode = encode or cast("Callable[[T], Mapping[str, object]]", dict)
        self._report = report

    @property
    def path(self) -> Path:
        return self._file().path

    def read(self) -> T | None:
        """None if there is none. A damaged one is moved aside as ``.corrupt-<time>`` and reported."""
        return self._file().read()

    def write(self, state: T) -> bool:
        """At once or not at all; False (and a report) if it could not be written."""
        return self._file().write(state)

    def clear(self) -> bool:
        """True if there is no such state now."""
        return self._file().clear()

    def _file(self) -> StateFile[T]:
        # Of the workspace, not of the main checkout: each git worktree has its own.
        folder = (
            local_folder(project(self._root).workspace)
            if self._location is StateLocation.LOCAL
            else global_folder(os.environ)
        )
        return StateFile(
            folder,
            self._name,
            decode=self._decode,
            encode=self._encode,
            report=self._report,
            now=SystemClock().now,
        )


def _object(document: object) -> tuple[dict[str, Any] | None, Sequence[str]]:
    return (document, ()) if isinstance(document, dict) else (None, ("it is not a JSON object",))
