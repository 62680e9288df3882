"""Small states as JSON files, of a project or of a user. What cannot be understood is kept aside, never lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from time import gmtime, strftime
from typing import Generic, TypeVar

from ralph.adapters.files import make_state_folder, read_plain, write_atomic
from ralph.domain.text.strict_json import parse_json
from ralph.errors import UsageError

T = TypeVar("T")

Decode = Callable[[object], tuple[T | None, Sequence[str]]]
"""Data → the state, or None and what is wrong with the data. Never raises."""

STATE_FOLDER = ".ralph"
MOST_BYTES = 10_000_000


class StateLocation(StrEnum):
    """``local``: the project's ``.ralph/state``. ``global``: the user's, for all projects."""

    LOCAL = "local"
    GLOBAL = "global"


def local_folder(project: Path) -> Path:
    return project / STATE_FOLDER / "state"


def global_folder(environ: Mapping[str, str]) -> Path:
    """``$XDG_STATE_HOME/ralph``, else ``~/.ralph/state``."""
    configured = environ.get("XDG_STATE_HOME", "")
    # The specification: a relative path is invalid and to be ignored.
    if configured and Path(configured).is_absolute():
        return Path(configured) / "ralph"
    try:
        return Path.home() / STATE_FOLDER / "state"
    except RuntimeError as error:
        message = "no home directory is known, so there is no place for a global state"
        raise UsageError(message, hint="set HOME or XDG_STATE_HOME") from error


class StateFile(Generic[T]):
    """``<folder>/<name>.json``. ``report`` is told of everything that could not be read or written."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        decode: Decode[T],
        encode: Callable[[T], Mapping[str, object]],
        report: Callable[[str], None],
        now: Callable[[], float],
    ) -> None:
        if not name or name.startswith(".") or "/" in name or "\0" in name:
            message = f"{name!r} cannot be the name of a state"
            raise UsageError(message, hint="use a plain name such as 'ralph-loop'")
        self.path = folder / f"{name}.json"
        self._decode = decode
        self._encode = encode
        self._report = report
        self._now = now

    def read(self) -> T | None:
        """None if there is no file. One that is damaged or of another kind is moved aside and reported."""
        try:
            return self._read()
        except OSError as error:
            self._report(f"cannot read {self.path}: {error.strerror or error}")
            return None

    def write(self, state: T) -> bool:
        """Replace the file whole, or leave it as it was. A damaged one is kept aside first."""
        content = json.dumps(self._encode(state), indent=2, allow_nan=False) + "\n"
        try:
            self._read()
            self._make_folder()
            write_atomic(self.path, content)
        except OSError as error:
            self._report(f"cannot write {self.path}: {error.strerror or error}")
            return False
        return True

    def clear(self) -> bool:
        """True: there is no such file now."""
        try:
            self.path.unlink(missing_ok=True)
        except NotADirectoryError:  # something on the way is a file: then there is none
            return True
        except OSError as error:
            self._report(f"cannot remove {self.path}: {error.strerror or error}")
            return False
        return True

    def _read(self) -> T | None:
        try:
            data = read_plain(self.path, MOST_BYTES)
        except FileNotFoundError:
            return None
        try:
            document = parse_json(data.decode()).value
        except ValueError as error:
            self._keep_aside(f"not JSON: {error}")
            return None
        state, problems = self._decode(document)
        if state is None:
            self._keep_aside("; ".join(problems) or "unknown contents")
        return state

    def _keep_aside(self, why: str) -> None:
        time = strftime("%Y%m%dT%H%M%SZ", gmtime(self._now()))
        aside = self.path.with_name(f"{self.path.name}.corrupt-{time}")
        number = 1
        while aside.exists():  # twice within a second: an older one is not replaced
            number += 1
            aside = self.path.with_name(f"{self.path.name}.corrupt-{time}-{number}")
        try:
            self.path.rename(aside)
        except FileNotFoundError:  # another process was quicker, and reports it
            return
        self._report(
            f"{self.path} is damaged or of another version ({why}); it was kept as {aside.name}, "
            "and the state counts as absent"
        )

    def _make_folder(self) -> None:
        folder = self.path.parent
        if folder.parent.name == STATE_FOLDER:
            make_state_folder(folder.parent)
        folder.mkdir(parents=True, exist_ok=True)
