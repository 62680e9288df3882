"""Which files of a state folder travel with its record, and where they are in a packed one.

A packed record is committed after every iteration of a run that may have thousands: no folder in it gets long, and a file that
only grows is cut into pieces, so that one more iteration costs as much as the one before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.storage.places import RUNS
from ralph.errors import DamagedRecord
from ralph.patterns import pattern

Parts = tuple[str, ...]
"""The way to a file, from the state folder or from the packed one."""

PIECE = 128 * 1024
LARGEST_LOG = 64 * 1024 * 1024
FILES, NUMBERED, PIECES = "files", "numbered", "pieces"
ROOMS = (FILES, NUMBERED, PIECES)
SHARED = ("state", "tasks", "plans", "PROJECT-MESSAGE-BUS.md")
"""What belongs to the project, not to one run. Worktrees are made again; settings and the seal are each machine's own."""
LEFT = (
    "children/*",  # processes of this machine
    "proof/[0-9]*/*",  # throw-away checkouts
    "outpost/*",  # a mirror of the remote
    *(f"proof/{name}" for name in ("lock", "entries", "names", "gone", "objects", "filtered", "adopted")),
    *("proof/paths", "proof/review.*"),
    *("proof/patch.index", "proof/no.index", "proof/*.new", "merge.index", "*.lock", "*.tmp", "*.sock"),
)
"""In a run's folder: what is made again when it is needed, or means nothing elsewhere."""
OBJECTS = pattern(r"proof/git/(info/exclude|objects/([0-9a-f]{2}/[0-9a-f]{38,62}|pack/[\w.-]+))")
"""All of the git directory of the proof that travels: its configuration is written here, whoever sends it."""
AGAIN = "Get it again from where it came from; nothing of it was taken."
LOGS = ("*.ndjson", "*.ndjson.gz", "*.log")
_NUMBER = pattern(r"_(\d{1,9})")


def damaged(what: str, way: Parts = ()) -> DamagedRecord:
    place = f" at {'/'.join(way)[:200]!r}" if way else ""
    return DamagedRecord(f"the record is damaged{place}: {what}", hint=AGAIN)


def is_portable(way: Parts) -> bool:
    if not all(is_name(part) for part in way):
        return False
    if way[0] != RUNS:
        return way[0] in SHARED and not any(fnmatchcase(way[-1], rule) for rule in ("*.lock", "*.tmp"))
    if len(way) < 3:
        return False
    inner = "/".join(way[2:])
    if inner.startswith("proof/git/"):
        return OBJECTS.fullmatch(inner) is not None
    return not any(fnmatchcase(inner, rule) for rule in LEFT)


def is_name(part: str) -> bool:
    return part not in ("", ".", "..") and "/" not in part and "\0" not in part and part.lower() != ".git"


def find_files(state_folder: Path, tops: Collection[Parts]) -> Iterator[Parts]:
    """The plain files below these that travel; no link is followed."""
    waiting = sorted(tops, reverse=True)
    while waiting:
        way = waiting.pop()
        found = beneath.status(state_folder.joinpath(*way), state_folder)
        if found is None:
            continue
        if stat.S_ISREG(found.st_mode) and is_portable(way) and not _is_too_large(way, found.st_size):
            yield way
        elif stat.S_ISDIR(found.st_mode) and not _is_left(way):
            names = beneath.list_names(state_folder.joinpath(*way), state_folder)
            waiting += [(*way, name) for name in reversed(names) if _is_text(name)]


def _is_left(way: Parts) -> bool:
    """A whole folder: a checkout may hold a hundred thousand files."""
    return way[-1].lower() == ".git" or (
        way[0] == RUNS and any(fnmatchcase("/".join((*way[2:], "x")), rule) for rule in LEFT)
    )


def _is_too_large(way: Parts, size: int) -> bool:
    """A session that said so much is in the record as far as ralph keeps it there."""
    return size > LARGEST_LOG and any(fnmatchcase(way[-1], rule) for rule in LOGS)


def _is_text(name: str) -> bool:
    """What is no text has no name in a manifest or a git tree of ours."""
    return name.isprintable()


def packed_place(way: Parts) -> Parts:
    """Files of single iterations are spread over folders by their number."""
    if way[0] == RUNS and len(way) == 3 and (found := _NUMBER.search(way[2])):
        return (NUMBERED, way[1], *spread(int(found[1])), way[2])
    return (FILES, *way)


def spread(number: int) -> Parts:
    """Folders for what has this number, of at most a hundred entries each up to a million."""
    return f"{number // 10_000:03}", f"{number // 100 % 100:02}", f"{number // 10 % 10}"


def state_place(packed: Parts) -> Parts:
    """The opposite of ``packed_place``. Raises StoreError for what no ralph packs."""
    match packed:
        case (room, run, _, _, _, name) if room == NUMBERED:
            way: Parts = (RUNS, run, name)
        case (room, *rest) if room == FILES:
            way = tuple(rest)
        case _:
            way = ()
    if not way or not is_portable(way) or packed_place(way) != packed:
        what = "no ralph would keep such a file in it"
        raise damaged(what, packed)
    return way


class PackedFiles:
    """Writes into a packed folder what differs from what is there, and removes what was not written this time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: set[Parts] = set()

    def keep(self, way: Parts) -> None:
        """It is there, and stays."""
        self._written.add(way)

    def put(self, way: Parts, content: bytes, *, time_ns: int | None = None) -> None:
        self._written.add(way)
        path = self._folder.joinpath(*way)
        found = beneath.status(path, self._folder)
        if found is not None:
            if stat.S_ISREG(found.st_mode) and found.st_size == len(content) and self._read(way) == content:
                return
            beneath.remove(path, self._folder)
        with beneath.open_new(path, self._folder, mode=0o600) as file:
            file.write(content)
            file.flush()
            if time_ns is not None:
                os.utime(file.fileno(), ns=(time_ns, time_ns))

    def put_file(self, way: Parts, source: Path, top: Path) -> None:
        """A large one in pieces. One with the size and time of what is there was packed before."""
        with beneath.open_plain(source, top) as file:
            about = os.fstat(file.fileno())
            if about.st_size <= PIECE:
                found = beneath.status(self._folder.joinpath(*way), self._folder)
                if (
                    found is not None
                    and stat.S_ISREG(found.st_mode)
                    and (found.st_size, found.st_mtime_ns) == (about.st_size, about.st_mtime_ns)
                ):
                    self.keep(way)
                else:
                    self.put(way, file.read(PIECE), time_ns=about.st_mtime_ns)
                return
            number = 0
            while piece := file.read(PIECE):
                self.put((PIECES, *way, *spread(number), f"{number:07}"), piece)
                number += 1

    def sweep(self, rooms: Collection[str]) -> None:
        for room in rooms:
            for way in find_packed(self._folder, room):
                if way not in self._written:
                    beneath.remove(self._folder.joinpath(*way), self._folder)

    def _read(self, way: Parts) -> bytes | None:
        return beneath.read_whole(self._folder.joinpath(*way), 1 << 31, self._folder)


def find_packed(folder: Path, room: str) -> Iterator[Parts]:
    """The plain files of a packed record, in order. Raises StoreError for whatever else is there."""
    waiting: list[Parts] = [(room,)]
    while waiting:
        way = waiting.pop()
        found = beneath.status(folder.joinpath(*way), folder)
        if found is None and len(way) == 1:
            return
        if found is not None and stat.S_ISDIR(found.st_mode):
            if len(way) > 60:
                break
            names = beneath.list_names(folder.joinpath(*way), folder)
            waiting += [(*way, name) for name in reversed(names)]
        elif found is not None and stat.S_ISREG(found.st_mode) and len(way) > 1:
            yield way
        else:
            break
    else:
        return
    what = "it is not a plain file"
    raise damaged(what, way)


def packed_files(folder: Path) -> Iterator[tuple[Parts, list[Path]]]:
    """Each file's place in a state folder, and what it is made of. Raises StoreError."""
    for room in (FILES, NUMBERED):
        for way in find_packed(folder, room):
            yield state_place(way), [folder.joinpath(*way)]
    whole: Parts = ()
    pieces: list[Path] = []
    for way in find_packed(folder, PIECES):
        name = way[1:-4]
        if name != whole:
            if pieces:
                yield state_place(whole), pieces
            whole, pieces = name, []
        if way[-4:] != (*spread(len(pieces)), f"{len(pieces):07}"):
            what = "it is incomplete"
            raise damaged(what, way)
        pieces.append(folder.joinpath(*way))
    if pieces:
        yield state_place(whole), pieces
