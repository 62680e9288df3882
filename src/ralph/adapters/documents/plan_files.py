"""The files of a plan, ``ralph/{prd.md,tasks.json,progress.txt,prompt.md}``, and the marker ``.ralph-active``.

They are read with care and written whole: an agent may have put a link, a pipe or an endless file in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder, real_path
from ralph.domain.plan.active_marker import MARKER_FILE, ActiveMarker
from ralph.domain.plan.document import LARGEST_CHARS
from ralph.errors import StoreError, UsageError
from ralph.values import dataclass

PRD = "prd.md"
TASKS = "tasks.json"
PROGRESS = "progress.txt"
PROMPT = "prompt.md"
PLAN_FILES = (PRD, TASKS, PROGRESS, PROMPT)
GUARDED = (PRD, PROMPT)
DEFAULT_FOLDER = Path("ralph")

LARGEST_BYTES = 4 * LARGEST_CHARS
PROGRESS_END_BYTES = 200_000

Write = Callable[[Path, str | bytes], None]


def plan_folder(root: Path, ralph_dir: Path | None) -> Path:
    """The plan's folder; it must be inside the project, even through links."""
    folder = root / (ralph_dir or DEFAULT_FOLDER)
    resolved, top = real_path(folder), real_path(root)
    if not resolved.is_relative_to(top) or resolved == top:
        message = f"the plan directory {folder} is not inside the project {root}"
        raise UsageError(message, hint="give --ralph-dir a directory inside the project")
    if resolved.exists() and not resolved.is_dir():
        message = f"the plan directory {folder} is not a directory"
        raise UsageError(message, hint="choose another with --ralph-dir, or move that file away")
    return resolved


def require_plan(root: Path, ralph_dir: Path | None) -> Path:
    """The folder of an existing plan."""
    folder = plan_folder(root, ralph_dir)
    if not (folder / TASKS).exists() and not (folder / TASKS).is_symlink():
        message = f"there is no plan: {folder / TASKS} does not exist"
        raise UsageError(message, hint="`ralph plan new` makes one")
    return folder


@dataclass(frozen=True, slots=True)
class PlanFiles:
    """``aside``: the run's own folder, for copies of what was undone; None: nothing is kept.

    ``trusted``: the file in which ralph remembers what it trusts of this plan; None: it remembers nothing.
    """

    root: Path
    path: Path
    write: Write
    aside: Path | None = None
    trusted: Path | None = None

    @property
    def memory(self) -> str:
        return str(self.trusted or "")

    @property
    def folder(self) -> str:
        return self.path.relative_to(real_path(self.root)).as_posix()

    def read_tasks(self) -> str | None:
        data = beneath.read_whole(self.path / TASKS, LARGEST_BYTES)
        try:
            return None if data is None else data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def write_tasks(self, text: str) -> None:
        self._put(TASKS, text.encode())

    def read_guarded(self) -> Mapping[str, bytes | None]:
        return {name: beneath.read_whole(self.path / name, LARGEST_BYTES) for name in GUARDED}

    def write_guarded(self, name: str, content: bytes | None) -> None:
        if content is None:
            with write_errors(self.path / name):
                make_way(self.path / name)
        else:
            self._put(name, content)

    def read_prompt(self) -> str:
        data = beneath.read_whole(self.path / PROMPT, LARGEST_BYTES)
        if data is None:
            message = f"the plan has no readable {PROMPT}: {self.path / PROMPT}"
            raise UsageError(message, hint="`ralph plan new` writes what is missing")
        return data.decode(errors="replace")

    def read_progress(self) -> str:
        data = beneath.read_whole(self.path / PROGRESS, LARGEST_BYTES)
        if data is None:
            return ""
        if len(data) > 2 * PROGRESS_END_BYTES:  # only its two ends are ever used
            data = data[:PROGRESS_END_BYTES] + b"\n" + data[-PROGRESS_END_BYTES:]
        return data.decode(errors="replace")

    def set_aside(self, name: str) -> str:
        if self.aside is None:
            return ""
        file = self.path / name
        mode = mode_of(file)
        if mode is None or S_ISDIR(mode):  # a folder is displaced
            return ""
        with write_errors(self.aside):
            make_private_folder(self.aside)
            copies = (self.aside / f"{number:03}_{name}" for number in count(1))
            copy = next(path for path in copies if beneath.status(path, self.aside) is None)
            trees.keep_copy(file, copy, beneath.ROOT, self.aside)
        return str(copy)

    def load_trusted(self) -> str | None:
        if self.trusted is None or mode_of(self.trusted, self.trusted.parent) is None:
            return None
        data = beneath.read_whole(self.trusted, 2 * LARGEST_BYTES, self.trusted.parent)
        return "" if data is None else data.decode(errors="replace")

    def save_trusted(self, text: str) -> None:
        if self.trusted is None:
            return
        with write_errors(self.trusted):
            make_private_folder(self.trusted.parent)
            beneath.write_atomic(self.trusted, text, self.trusted.parent)

    def _put(self, name: str, content: bytes) -> None:
        target = self.path / name
        with write_errors(target):
            if not S_ISDIR(mode_of(self.path) or 0):
                make_way(self.path)
                beneath.make_folder(self.path)
            trees.open_up(self.path)
            if not S_ISREG(mode_of(target) or 0):
                make_way(target)
            self.write(target, content)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError in the block into a StoreError about a file that cannot be written."""
    try:
        yield
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise StoreError(message, hint="check its permissions and the space on that disk") from error


def mode_of(path: Path, top: Path = beneath.ROOT) -> int | None:
    """None: it is not there, or lies behind a link."""
    with suppress(OSError):
        found = beneath.status(path, top)
        return None if found is None else found.st_mode
    return None


def make_way(path: Path) -> None:
    """Remove what is at ``path``; a folder keeps its content under another name. Raises OSError."""
    found = beneath.status(path)
    if found is None or not S_ISDIR(found.st_mode):
        beneath.remove(path)
        return
    others = (path.with_name(f"{path.name}.displaced-{number}") for number in count(1))
    trees.move(path, next(other for other in others if beneath.status(other) is None))


def write_marker(root: Path, marker: ActiveMarker, write: Write) -> None:
    path = real_path(root) / MARKER_FILE
    with write_errors(path):
        if not S_ISREG(mode_of(path) or 0):
            make_way(path)
        write(path, marker.text())


def remove_marker(root: Path) -> None:
    path = real_path(root) / MARKER_FILE
    with write_errors(path):
        make_way(path)
