"""The files of the project that an agent is made of, as they were when the run began: nobody appoints their own judge."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ralph.adapters.files import is_true, open_plain
from ralph.adapters.search_path import find_program
from ralph.adapters.workspace.sealed_files import read_sealed, write_sealed
from ralph.domain.proof.judge_programs import words_that_run
from ralph.values import dataclass, field, replace

GONE = "gone"
CHUNK = 1_000_000
MOST_LINKS = 20

CommandLine = Sequence[str]


@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """``lines`` are the command lines of agents, relative ones from ``workspace``; ``search`` is their PATH.

    ``places``: a file that lies in one of these folders, or that a link in there leads to, is one of the project.
    ``begun``: the digest of each when the run began.
    """

    lines: tuple[CommandLine, ...]
    workspace: Path
    places: tuple[Path, ...]
    search: str
    begun: Mapping[str, str] = field(default_factory=dict)
    _known: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)

    def as_they_are(self) -> ProgramFiles:
        return replace(self, begun=self._digests(self.lines))

    def recalled(self, file: Path) -> ProgramFiles:
        """As they were when the run began; as they are, if nothing was kept. Raises GitFailed if it is damaged."""
        kept = read_sealed(file)
        if kept is None:
            return self.as_they_are()
        found = {os.path.normpath(self.places[0] / name): digest for name, digest in json.loads(kept).items()}
        return replace(self, begun=found)

    def keep(self, file: Path) -> None:
        """For whoever resumes the run, wherever the project lies then."""
        self._write(file, self.begun)

    def keep_left(self, file: Path) -> None:
        """What the run makes of them, for the next one: it is not the user's."""
        now = self._digests(self.lines)
        if self.begun or file.exists():
            self._write(file, {name: now.get(name, GONE) for name in self.changed()}, must=True)

    def with_own_edits(self, left: Path) -> ProgramFiles:
        """Those that are not as the run left them are the user's; nothing is known if it noted nothing."""
        if not left.exists():
            return self
        as_left = {**self.begun, **self._read(left)}
        now = self._digests(self.lines)
        theirs = {name: digest for name, digest in now.items() if as_left.get(name, digest) != digest}
        return replace(self, begun={**self.begun, **theirs})

    def before(self, begun: Path, left: Path) -> ProgramFiles:
        """Those that are as an unaccepted run left them count as what they were when that one began."""
        as_left = self._read(left)
        theirs = {
            name: digest
            for name, digest in self._read(begun).items()
            if name in as_left and self._digest(name) == as_left[name]
        }
        return replace(self, begun={**self.begun, **theirs})

    def _write(self, file: Path, digests: Mapping[str, str], *, must: bool = False) -> None:
        if must or digests or file.exists():
            kept = {os.path.relpath(name, self.places[0]): digest for name, digest in digests.items()}
            write_sealed(file, json.dumps(kept))

    def _read(self, file: Path) -> dict[str, str]:
        kept = json.loads(read_sealed(file) or "{}")
        return {os.path.normpath(self.places[0] / name): digest for name, digest in kept.items()}

    @property
    def paths(self) -> frozenset[str]:
        """From the top of the project; links on the way to them are among them."""
        return frozenset(
            Path(hop).relative_to(place).as_posix()
            for file in self.begun
            for hop in _hops(file)
            for place in self.places
            if Path(hop).is_relative_to(place)
        )

    def changed(self, lines: Sequence[CommandLine] | None = None) -> tuple[str, ...]:
        """Those that are not what they were, also because another one is found in their place. ``lines``: only theirs."""
        now = self._digests(self.lines if lines is None else lines)
        names = {*now, *(self.begun if lines is None else ())}
        return tuple(sorted(name for name in names if now.get(name, GONE) != self.begun.get(name)))

    def _digests(self, lines: Sequence[CommandLine]) -> dict[str, str]:
        files = (file for line in lines for file in self._files(line))
        return {file: self._digest(file) for file in dict.fromkeys(files)}

    def _files(self, line: CommandLine) -> Iterator[str]:
        for place, word in enumerate(words_that_run(line)):
            is_bare = place == 0 and os.sep not in word
            found = find_program(word, self.search) if is_bare else word
            if not found:
                continue
            file = os.path.normpath(self.workspace / found)  # not resolved: a link on the way counts
            if file in self.begun or (is_true(Path(file).is_file) and any(map(self._is_ours, _hops(file)))):
                yield file

    def _is_ours(self, file: str) -> bool:
        return any(Path(file).is_relative_to(place) for place in self.places)

    def _digest(self, file: str) -> str:
        from hashlib import sha256

        try:
            about = Path(file).stat()
            # Nobody sets the time of the last change by will, so a large program is read once.
            state = (about.st_dev, about.st_ino, about.st_size, about.st_ctime_ns)
            if (known := self._known.get(file)) is not None and known[0] == state:
                return known[1]
            hashed = sha256()
            with open_plain(file) as opened:
                while chunk := opened.read(CHUNK):
                    hashed.update(chunk)
        except OSError:
            return GONE
        digest = hashed.hexdigest()
        self._known[file] = (state, digest)
        return digest


def _hops(file: str) -> list[str]:
    """A file, and where links lead to from it, one after the other."""
    place, found = Path(file), [file, os.path.realpath(file)]
    while is_true(place.is_symlink) and len(found) < MOST_LINKS:
        place = Path(os.path.normpath(place.parent / place.readlink()))
        found.append(str(place))
    return found
