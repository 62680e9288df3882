"""Markdown files of the project as a source of work: checklists, spec-kit's and OpenSpec's ``tasks.md``.

They are read again whenever something is asked: people edit them meanwhile. What they say is worked out again only if they
have changed. Only boxes are written, one byte each, where they are.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from errno import EACCES, EPERM, EROFS
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ralph.adapters import beneath, files
from ralph.adapters.sources.markdown_files import (
    TASKS,
    find_context,
    find_lists,
    is_file,
    is_plain_name,
    plan_in,
    require_plain_name,
)
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.batch import PLACE, add_notes, merge, parts_of
from ralph.domain.tickets.checklist import LARGEST_BYTES, Checklist, Item, find_boxes, read_checklist
from ralph.domain.tickets.checklist_key import print_of, task_id_of
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.ports import Wanted
from ralph.errors import ServiceAway, UsageError
from ralph.values import dataclass

T = TypeVar("T")
LONGEST_WAIT = 10.0
STEP = 0.02
LONG = 100_000
"""Bytes. What a longer file says is worked out in a thread: everything else goes on meanwhile."""
TICK = b"x"
ATTEMPTS = 20
"""To write a file that somebody else writes at the same time."""


def open_markdown(path: Path, root: Path) -> MarkdownSource:
    """A file, or a folder with such files, of the project in ``root``. Raises UsageError."""
    top = files.real_path(root)
    place = files.real_path(path)
    shown = clean_line(str(path))
    if not place.is_relative_to(top):
        message = f"{shown} is not in the project ({clean_line(str(root))})"
        raise UsageError(message, hint="only files of the project can be worked from: copy it there")
    require_plain_name(place, top)
    try:
        found = beneath.status(place, top) if place != top else top.stat()
    except (OSError, ValueError) as error:
        raise _unreadable(shown, error) from None
    if found is None:
        message = f"{shown} does not exist"
        raise UsageError(message, hint="name a Markdown file with checkboxes, or a folder with such files")
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        message = f"{shown} is neither a file nor a folder"
        raise UsageError(message, hint="name a Markdown file with checkboxes")
    is_folder = stat.S_ISDIR(found.st_mode)
    if is_folder and (file := plan_in(place, top)) is not None:  # the same tickets as those of the file
        place, is_folder = file, False
    return MarkdownSource(place, top, is_folder=is_folder)


@dataclass(frozen=True, slots=True)
class _List:
    """One file. ``prefix``: what the keys of its items begin with. ``stem``: what their tasks are called after."""

    path: Path
    shown: str
    prefix: str
    stem: str


class MarkdownSource:
    """The ``Source`` of a file or a folder. Nobody holds its tasks, and nobody comments on them."""

    def __init__(self, place: Path, root: Path, *, is_folder: bool) -> None:
        self._place = place
        self._root = root
        self._is_folder = is_folder
        self._known: dict[Path, tuple[bytes, Checklist]] = {}  # by what each file had in it, shortened

    @property
    def name(self) -> str:
        return self._shown(self._place)

    @property
    def is_shared(self) -> bool:
        return False

    async def tickets(self, wanted: Wanted) -> AsyncIterator[Ticket]:
        """Labels are for sources that others write to."""
        count = 0
        for one in self._lists():
            for ticket in await self._open_tickets(one):
                if wanted.limit is not None and count >= wanted.limit:
                    return
                count += 1
                yield ticket

    async def read(self, key: str) -> Ticket | None:
        found: list[Ticket] = []
        for one, names in self._sort(key):
            checklist = await self._read(one, is_optional=self._is_folder)
            named = [] if checklist is None else [(name, checklist.find(name)) for name in names]
            items = [(name, item) for name, item in named if item is not None]
            context = self._context(one) if items else ()
            found += [self._ticket(one, item, context, key=f"{one.prefix}{name}") for name, item in items]
        return merge(found) if found else None

    async def say(self, key: str, text: str) -> None:
        """There is no place for comments; whoever wants to know reads ``ralph task show``."""

    async def move(self, key: str, to: Move, *, holder: str) -> None:
        """Raises UsageError if a box is not there any more; those that are there are ticked."""
        if to in (Move.TAKE, Move.FREE):
            return
        missing: list[str] = []
        for one, names in self._sort(key):
            missing += [f"{name} in {one.shown}" for name in await self._tick(one, names)]
        if missing:
            message = f"not ticked, because it is not there any more: {', '.join(missing)}"
            raise UsageError(
                message, hint="its task was removed, renamed or written twice; tick it by hand if it is done"
            )

    # --- files ---

    def _shown(self, path: Path) -> str:
        """As it is: other names are refused."""
        return path.relative_to(self._root).as_posix()

    def _lists(self) -> list[_List]:
        try:
            paths = find_lists(self._place, self._root) if self._is_folder else [self._place]
        except OSError as error:
            raise _unreadable(self.name, error) from None
        for path in paths:
            require_plain_name(path, self._root)
        stems = [_stem(path, self._root) for path in paths]
        count = Counter(stem.lower() for stem in stems)
        return [
            self._list(path, stem if count[stem.lower()] == 1 else f"{stem}-{print_of(self._shown(path))}")
            for path, stem in zip(paths, stems, strict=True)
        ]

    def _list(self, path: Path, stem: str) -> _List:
        prefix = f"{path.relative_to(self._place).as_posix()}{PLACE}" if self._is_folder else ""
        return _List(path, self._shown(path), prefix, stem)

    def _sort(self, key: str) -> Iterator[tuple[_List, list[str]]]:
        """The parts of a key, by their files, which are not searched for again: thousands may be asked about."""
        names: dict[str, list[str]] = {}
        for part in parts_of(key):
            place, _, name = part.rpartition(PLACE)
            names.setdefault(place, []).append(name)
        for place, some in names.items():
            path = self._place / place if self._is_folder else self._place
            is_inside = place and ".." not in path.parts and path.is_relative_to(self._place)
            if self._is_folder and not (is_inside and is_plain_name(path, self._root)):
                continue  # no key of ours
            yield self._list(path, _stem(path, self._root)), some

    async def _read(self, one: _List, *, is_optional: bool = False) -> Checklist | None:
        """None: it is not there, or it is no list at all. Raises UsageError, with every line that is wrong."""
        try:
            checklist = await self._parse(
                one.path, beneath.read_plain(one.path, LARGEST_BYTES + 1, self._root)
            )
        except FileNotFoundError as error:
            if is_optional:
                return None
            raise _unreadable(one.shown, error) from None
        except OSError as error:
            raise _unreadable(one.shown, error) from None
        if checklist.is_done and checklist.problems:
            return None  # nobody has to correct what is over
        if is_optional and not checklist.has_boxes:
            return None
        if checklist.problems:
            lines = "\n".join(f"{one.shown}: {problem}" for problem in checklist.problems)
            raise UsageError(lines, hint="correct the file and try again")
        return checklist

    async def _parse(self, path: Path, data: bytes) -> Checklist:
        """All tickets of a file are asked about one by one: what it says is the same for each of them."""
        digest = sha256(data).digest()
        known, checklist = self._known.get(path, (b"", Checklist()))
        if known != digest:
            checklist = await _aside(read_checklist, data, size=len(data))
            self._known[path] = (digest, checklist)
        return checklist

    # --- tickets ---

    async def _open_tickets(self, one: _List) -> list[Ticket]:
        checklist = await self._read(one, is_optional=self._is_folder)
        items = [] if checklist is None else [item for item in checklist.items if not item.is_ticked]
        context = self._context(one) if items else ()
        return [self._ticket(one, item, context) for item in items]

    def _context(self, one: _List) -> tuple[str, ...]:
        found = find_context(one.path, self._root)
        return tuple(self._shown(path) for path in found if is_plain_name(path, self._root))

    def _ticket(self, one: _List, item: Item, context: tuple[str, ...], *, key: str = "") -> Ticket:
        return Ticket(
            key=key or f"{one.prefix}{item.key}",
            shown=f"{one.stem} {item.key}" if one.prefix else item.key,
            task_id=task_id_of(one.stem, item.key),
            title=item.title,
            text=add_notes(item.text, item.notes),
            is_open=not item.is_ticked,
            left_out=item.left_out,
            criteria=item.criteria,
            has_own_check=item.has_own_check,
            blockers=tuple(f"{one.prefix}{name}" for name in item.blockers),
            priority=item.priority,
            estimate=item.estimate,
            spec=one.stem,
            group=item.group,
            context=context,
            file=one.shown,
        )

    # --- boxes ---

    async def _tick(self, one: _List, names: Sequence[str]) -> tuple[str, ...]:
        """Those that are not there. A byte is written for each box: whoever else writes the file loses nothing."""
        if not is_file(one.path, self._root) and self._is_folder:
            return tuple(names)  # the whole file is gone
        async with self._locked(one):
            before = None
            for _ in range(ATTEMPTS):
                try:
                    with beneath.open_in_place(one.path, self._root) as file:
                        data = file.read(LARGEST_BYTES + 1)
                        boxes, missing = await _aside(_find_boxes, data, names, one.shown, size=len(data))
                        is_done = not boxes or self._patch(one, file, data, boxes)
                except OSError as error:
                    raise _unwritable(one.shown, error) from None
                # An editor that saves may have written half of it: what is missing is looked for twice.
                if is_done and (not missing or data == before):
                    return missing
                before = None if boxes else data
                await asyncio.sleep(STEP)
        message = f"{one.shown} is being changed all the time by another program"
        raise ServiceAway(message)

    def _patch(self, one: _List, file: BinaryIO, data: bytes, boxes: Sequence[int]) -> bool:
        """False: somebody has written the file meanwhile, or saved another one under its name."""
        is_ticked = beneath.patch(file, data, dict.fromkeys(boxes, TICK))
        return is_ticked and beneath.leads_to(one.path, file, self._root)

    @asynccontextmanager
    async def _locked(self, one: _List) -> AsyncIterator[None]:
        """Other processes of ralph wait. The folder is locked, not the file: editors replace that."""
        try:
            descriptor = files.open_folder(one.path.parent)
        except OSError as error:
            raise _unreadable(one.shown, error) from None
        try:
            for _ in range(round(LONGEST_WAIT / STEP)):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    await asyncio.sleep(STEP)
            else:
                message = f"the folder of {one.shown} is locked by another process"
                raise ServiceAway(message)
            yield
        finally:
            os.close(descriptor)


async def _aside(do: Callable[..., T], *args: Any, size: int) -> T:
    return do(*args) if size < LONG else await asyncio.to_thread(do, *args)


def _find_boxes(data: bytes, names: Sequence[str], shown: str) -> tuple[list[int], tuple[str, ...]]:
    """Where their open boxes are, in bytes, and which are not there."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        message = f"{shown} is not UTF-8 any more"
        raise UsageError(message, hint="save it as UTF-8") from None
    if len(data) > LARGEST_BYTES:
        message = f"{shown} is too large by now"
        raise UsageError(message, hint=f"split it: ralph reads at most {LARGEST_BYTES:,} bytes")
    places, missing = find_boxes(text, dict.fromkeys(names, 0))
    lengths = (len(text[at:to].encode()) for at, to in pairwise((0, *places)))
    return list(accumulate(lengths)), missing


def _stem(path: Path, root: Path) -> str:
    """``specs/001-photos/tasks.md`` → 001-photos, ``TODO.md`` → TODO."""
    return path.parent.name if path.name == TASKS and path.parent != root else path.stem


def _unreadable(shown: str, error: OSError | ValueError) -> UsageError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return UsageError(
        f"{shown} cannot be used: {clean_line(why)}", hint="name a Markdown file of the project"
    )


def _unwritable(shown: str, error: OSError) -> UsageError:
    if error.errno not in (EACCES, EPERM, EROFS):
        return _unreadable(shown, error)
    message = f"{shown} cannot be ticked: {clean_line(error.strerror or str(error))}"
    return UsageError(message, hint="make the file writable, or tick the box by hand")
