"""Where our git talks to the remote from: a repository of its own, which obeys the settings as they were when the run began.

Git obeys the configuration of the repository that it works in: programs to log in with, addresses, proxies. A session can
write to that. So whatever reaches another machine runs here, with the objects of the user's repository and a copy of those
settings, which its user was asked about.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.git import Git, Ran
from ralph.engine.ports import ProcessRunner

MOST_BYTES = 10_000_000
_OBEYED = ("core.gitproxy", "core.sshcommand", "credential.", "http.", "protocol.", "remote.", "ssh.", "url.")
"""What decides where git goes, and how it logs in there."""
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")


class Outpost:
    """``home``: of the user's repository; ``there``: of the one in ``folder``. ``options``: how to log in, besides the settings."""

    def __init__(self, home: Git, there: Git, folder: Path, options: Sequence[str] = ()) -> None:
        self._home = home
        self._there = there
        self._folder = folder
        self._options = tuple(options)

    @classmethod
    async def make(cls, home: Git, runner: ProcessRunner, options: Sequence[str] = ()) -> Outpost:
        """Raises GitFailed. It is removed when ralph ends; what a kill leaves is small, and in the folder for such things."""
        folder = Path(tempfile.mkdtemp(prefix="ralph-remote-"))
        atexit.register(_remove, folder)
        kind = (await home.must("rev-parse", "--show-object-format")).text
        await home.must(
            "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", "--", str(folder)
        )
        await take_objects(home, folder)
        settings = [*_parse(await home.run("config", "--local", "--includes", "--null", "--list"))]
        obeyed = [(key, value) for key, value in settings if key.startswith(_OBEYED)]
        text = "".join(_written(key, value) for key, value in [("core.bare", "true"), *obeyed])
        beneath.write_atomic(folder / "config", text, folder)
        # It works where the user's does, so that an address means the same.
        there = Git(home.root, runner, environment={"GIT_DIR": str(folder)})
        return cls(home, there, folder, options)

    async def reach(self, *arguments: str) -> Ran:
        """A git command that talks to the remote."""
        return await self._there.run(*arguments, is_remote=True, configuration=self._options)

    async def bring(self, address: str, ref: str, into: str, *, home: Git | None = None) -> Ran:
        """Fetch a ref of the remote into a ref of the user's repository, or of ``home`` instead."""
        ran = await self.reach(*_FETCH, "--", address, f"+{ref}:{ref}")
        if not ran.ok:
            return ran
        return await (home or self._home).run(*_FETCH, "--", str(self._folder), f"+{ref}:{into}")


def _remove(folder: Path) -> None:
    with suppress(OSError):
        trees.remove_tree(folder)


async def take_objects(home: Git, folder: Path) -> None:
    """Nothing is copied: what the user's repository has is there, also what is committed later."""
    found = (await home.must("rev-parse", "--path-format=absolute", "--git-path", "objects")).text
    beneath.write_atomic(folder / "objects" / "info" / "alternates", os.fsencode(found) + b"\n", folder)
    shallow = Path((await home.must("rev-parse", "--path-format=absolute", "--git-path", "shallow")).text)
    if (cut := beneath.read_whole(shallow, MOST_BYTES, shallow.parent)) is not None:
        beneath.write_atomic(folder / "shallow", cut, folder)


def _parse(ran: Ran) -> Iterator[tuple[str, str]]:
    for entry in ran.out.split("\0"):
        key, line, value = entry.partition("\n")
        if key:
            yield key, value if line else "true"  # a key alone is a yes


def _written(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    inner, dot, name = rest.rpartition(".")
    head = f'[{section} "{_escaped(inner)}"]' if dot else f"[{section}]"
    return f'{head}\n\t{name} = "{_escaped(value)}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
