"""Permissions and ownership: opened to everyone, or changed for a whole tree of the system."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import has_flag, split_options
from ralph.guard.places import MACHINE, Place

_OPEN_MODE = LazyPattern(r"0?[0-7]?[0-7][2367][2367]|(?:[augo]*o[augo]*|a+|)[+=][rxst]*w[rwxst]*")
_SETUID_MODE = LazyPattern(r"0?[4-7][0-7]{3}|[ugoa]*\+[rwx]*s[rwx]*")


def check_permissions(call: Call) -> Danger | None:
    if call.program not in ("chmod", "chown", "chgrp", "setfacl", "chattr", "icacls", "takeown"):
        return None
    options, operands = split_options(call.arguments, ("-m", "-x", "--reference"))
    is_recursive = has_flag(options, "R", "recursive") or "/t" in [word.lower() for word in operands]
    mode, paths = (operands[0], operands[1:]) if operands and call.program != "setfacl" else ("", operands)
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
