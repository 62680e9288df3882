"""Keep a small state: one named JSON document per project or per user."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from ralph.adapters.clock import SystemClock
from ralph.adapters.storage.places import local_folder
from ralph.adapters.storage.state_files import Decode, StateFile, StateLocation, global_folder
from ralph.config.root import find_root

T = TypeVar("T")
Report = Callable[[str], None]


def warn(message: str) -> None:
    """The default for reports: a Python warning, which a program can filter or log."""
    warnings.warn(message, UserWarning, stacklevel=2)


class StateManager(Generic[T]):
    """``<name>.json`` in ``.ralph/state`` of the project (local) or of the user (global).

    Without ``decode`` and ``encode`` the state is a JSON object, as a dict. Unless ``root`` names the project, each call
    finds it again: a program may change directory.
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
        """None if there is no state. A damaged file is renamed to ``.corrupt-<time>`` and reported."""
        return self._file().read()

    def write(self, state: T) -> bool:
        """Whole or not at all; False (and a report) if it could not be written."""
        return self._file().write(state)

    def clear(self) -> bool:
        """True if there is no state now."""
        return self._file().clear()

    def _file(self) -> StateFile[T]:
        # In the workspace, not the main checkout: each git worktree has its own state.
        folder = (
            local_folder(find_root(Path.cwd(), self._root).workspace)
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
