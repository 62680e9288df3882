"""Git directories that ralph makes file by file: nothing in them comes from a template or from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import make_private_folder, write_private

AS_THEY_ARE = "* -text -ident -filter -working-tree-encoding -export-subst\n"
"""Attributes that overrule those of the project: content is kept byte by byte."""
NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
_ANY_NAME = "\tprotectNTFS = false\n\tprotectHFS = false\n"


def make_directory(
    folder: Path,
    *,
    like: str,
    head: str = "refs/heads/none",
    is_bare: bool = True,
    objects: Path | None = None,
    settings: str = "",
) -> None:
    """``like``: an id of the kind that it uses. ``objects``: where else to look for objects; never a place that an agent writes."""
    make_private_folder(folder)
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        make_private_folder(folder / name)
    is_long = len(like) == 64
    text = f"[core]\n\trepositoryformatversion = {int(is_long)}\n\tfilemode = true\n\tbare = {str(is_bare).lower()}\n"
    text += "" if is_bare else "\tlogallrefupdates = true\n"
    text += "[extensions]\n\tobjectformat = sha256\n" if is_long else ""
    text += "[gc]\n\tauto = 0\n" if is_bare else ""
    write_private(folder / "config", (text + settings).encode())
    write_private(folder / "HEAD", f"ref: {head}\n".encode())
    if objects is not None:
        write_private(folder / "objects" / "info" / "alternates", os.fsencode(objects) + b"\n")


def make_plain_directory(folder: Path, *, like: str) -> None:
    """One that keeps content as it is."""
    make_directory(folder, like=like, settings=f"[core]\n{_ANY_NAME}")
    write_private(folder / "info" / "attributes", AS_THEY_ARE.encode())


def write_ref(folder: Path, name: str, commit: str) -> None:
    """A loose ref, in a directory that may be an agent's. Raises OSError."""
    place = folder / name
    beneath.make_folder(place.parent, folder)
    beneath.write_atomic(place, f"{commit}\n", folder)


def write_packed_refs(folder: Path, refs: Mapping[str, str]) -> None:
    lines = (f"{commit} {name}\n" for name, commit in sorted(refs.items()))
    write_private(folder / "packed-refs", "".join(lines).encode())
