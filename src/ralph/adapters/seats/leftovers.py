"""What is not committed in a checkout: put into a tree byte by byte, and back into another checkout.

``changed/`` has files that are new or differ from the commit, ``deleted`` the names of those that are gone. Of a merge under
way, ``unmerged`` has what git's index knows of its conflicts, ``stages/`` their content, and ``message`` the message.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import write_private
from ralph.adapters.git import Git
from ralph.adapters.seats.heads import Checkout
from ralph.adapters.seats.objects import FILE, Entry, Objects
from ralph.adapters.seats.record import is_id

LARGE = 100_000_000
"""Bytes. A new file that is larger does not travel: most remotes refuse it."""
MOST_BYTES = 100_000_000
_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
_NEW = "?"


async def list_changed(git: Git) -> list[tuple[str, str]]:
    """Letter and path of what differs from the commit that the index of ``git`` has. Raises GitFailed."""
    ran = await git.must(*_STATUS, "--", *git.not_own)
    return [(entry[1], entry[3:]) for entry in ran.names if entry[1:2].strip() and not entry.endswith("/")]


def put_changed(objects: Objects, top: Path, changed: Iterable[tuple[str, str]]) -> dict[str, Entry]:
    """What ``work/<number>`` needs of these. A file that cannot be read does not travel."""
    files: dict[str, Entry] = {}
    deleted: list[str] = []
    for letter, path in changed:
        with suppress(OSError):
            about = beneath.status(top / path, top)
            if about is None and letter != _NEW:
                deleted.append(path)
            elif about is not None and (letter != _NEW or about.st_size <= LARGE):
                entry = objects.put_below(top / path, top)
                if entry is not None:
                    files[f"changed/{path}"] = entry
    if deleted:
        files["deleted"] = Entry(FILE, objects.put("blob", _joined(deleted)))
    return files


async def put_merge(objects: Objects, git: Git, checkout: Checkout, top: Path) -> dict[str, Entry]:
    """Of a merge under way. ``git`` has the index of the checkout, and reads its objects, which may be forged."""
    files: dict[str, Entry] = {}
    message = beneath.read_whole(checkout.folder / "MERGE_MSG", MOST_BYTES, top)
    if message is not None:
        files["message"] = Entry(FILE, objects.put("blob", message))
    lines = (await git.must("ls-files", "--unmerged", "-z")).names
    for number, line in enumerate(lines):
        name = line.split(" ")[1]
        content = (await git.must("cat-file", "blob", name)).output
        stage = objects.put("blob", content)
        if stage == name:
            files[f"stages/{number}"] = Entry(FILE, stage)
    if lines:
        files["unmerged"] = Entry(FILE, objects.put("blob", _joined(lines)))
    return files


async def restore(
    plain: Git, own: Git, kept: str, folder: Path, *, directory: Path, merging: Sequence[str]
) -> None:
    """``kept``: the tree of ``work/<number>``. ``plain`` writes files as they are into the checkout, with an index that is
    thrown away; ``own`` is the checkout's own git. ``directory``: git's own of it. Raises GitFailed, OSError."""
    listed = (line.partition("\t") for line in (await plain.must("ls-tree", "-z", kept)).names)
    names = {name: about.split(" ")[2] for about, _, name in listed}
    top = own.root
    if "deleted" in names:
        gone = (await plain.must("cat-file", "blob", names["deleted"])).names
        for path in gone:
            with suppress(FileNotFoundError, NotADirectoryError):
                beneath.remove(top / path, top)
    if "changed" in names:
        await plain.must("read-tree", names["changed"])
        await plain.must("checkout-index", "--all", "--force", "--quiet")
    if merging and all(map(is_id, merging)):
        beneath.write_atomic(directory / "MERGE_HEAD", "".join(f"{one}\n" for one in merging), directory)
        beneath.write_atomic(directory / "MERGE_MODE", "", directory)
        if "message" in names:
            message = (await plain.must("cat-file", "blob", names["message"])).output
            beneath.write_atomic(directory / "MERGE_MSG", message, directory)
    if "unmerged" in names:
        lines = (await plain.must("cat-file", "blob", names["unmerged"])).names
        # A path in conflict has no entry of stage 0.
        resets = dict.fromkeys(line.partition("\t")[2] for line in lines)
        listing = folder / "entries"
        none = "0" * len(lines[0].split(" ")[1])
        write_private(listing, _joined([*(f"0 {none}\t{path}" for path in resets), *lines]))
        await own.must("update-index", "-z", "--index-info", stdin=listing)


def _joined(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)
