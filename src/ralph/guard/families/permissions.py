"""Permissions and ownership: opened to everyone, or changed for a whole tree of the system."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import has_flag, split_options
from ralph.guard.places import MACHINE, Place, is_regenerated

_OPEN_MODE = LazyPattern(r"0?[0-7]?[0-7][2367][2367]|(?:[augo]*o[augo]*|a+|)[+=][rxst]*w[rwxst]*")
_CLOSED_MODE = LazyPattern(r"0*[0-3]?[0-7]{0,2}|(?:[ugo]*[ua][ugoa]*|)(?:-[wx]*r[rwxX]*|=[wxX]*)")
"""The owner can no longer read."""
_FOLDER_CLOSING_MODE = LazyPattern(r"0*[0246][0-7]{2}|(?:[ugo]*[ua][ugoa]*|)-[rw]*x[rw]*")
"""The owner can no longer enter folders."""
_TAKEN_RIGHTS = LazyPattern(r"-[rwxXst]+", hints="-")
_SETUID_MODE = LazyPattern(r"0?[4-7][0-7]{3}|[ugoa]*\+[rwx]*s[rwx]*")


def check_permissions(call: Call) -> Danger | None:
    if call.program not in ("chmod", "chown", "chgrp", "setfacl", "chattr", "icacls", "takeown"):
        return None
    options, operands = split_options(
        call.arguments, ("-m", "-x") if call.program == "setfacl" else ("--reference",)
    )
    is_recursive = has_flag(options, "R", "recursive") or "/t" in [word.lower() for word in operands]
    mode, paths = (operands[0], operands[1:]) if operands and call.program != "setfacl" else ("", operands)
    if call.program == "chmod" and (taken := [word for word in options if _TAKEN_RIGHTS.fullmatch(word)]):
        mode, paths = taken[0], operands
    if call.program == "chmod" and mode and paths:
        if _SETUID_MODE.fullmatch(mode):
            return Danger(
                "permissions",
                f"chmod {mode} lets a program run with its owner's rights",
                "run it as the user who needs it",
            )
        if _OPEN_MODE.fullmatch(mode) and (
            is_recursive or any(call.place(path) in MACHINE for path in paths)
        ):
            return Danger(
                "permissions",
                f"chmod {mode} makes files writable by everyone",
                "use chmod u+rwX on the files that need it",
            )
        for path in paths:
            if _closes(mode, path, call.place(path), is_recursive=is_recursive):
                return Danger(
                    "permissions",
                    f"chmod {mode} locks the user out of {path}",
                    "take rights from others only (go-rwx), or name the file",
                )
    for path in paths:
        place = call.place(path)
        if is_recursive and place in MACHINE:
            return Danger(
                "permissions", f"{call.program} -R changes {place.value}", "name the project's own files"
            )
        if place in (Place.ROOT, Place.DEVICE) and call.program != "chattr":
            return Danger(
                "permissions", f"{call.program} changes {place.value}", "name the project's own files"
            )
    return None


def _closes(mode: str, path: str, place: Place, *, is_recursive: bool) -> bool:
    """The files below a folder, or the project, become useless to their owner."""
    is_whole = place is Place.PROJECT and is_recursive and "**" not in path
    if is_whole and _FOLDER_CLOSING_MODE.fullmatch(mode):
        return True
    is_much = place is Place.PROJECT or (is_recursive and place is not Place.TEMPORARY)
    return is_much and not is_regenerated(path) and _CLOSED_MODE.fullmatch(mode) is not None
