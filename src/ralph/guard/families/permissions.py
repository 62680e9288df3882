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
_OWN_FILES = "name the project's own files"
_SETUID_MODE = LazyPattern(r"0?[4-7][0-7]{3}|[ugoa]*\+[rwx]*s[rwx]*")


def check_permissions(call: Call) -> Danger | None:
    if call.program not in ("chmod", "chown", "chgrp", "setfacl", "chattr", "icacls", "takeown"):
        return None
    is_chmod, is_acl = call.program == "chmod", call.program == "setfacl"
    options, operands = split_options(call.arguments, ("-m", "-x") if is_acl else ("--reference",))
    is_recursive = has_flag(options, "R", "recursive") or "/t" in [word.lower() for word in operands]
    taken = [word for word in options if is_chmod and _TAKEN_RIGHTS.fullmatch(word)]
    mode, *paths = ("", *operands) if is_acl else (*taken[:1], *operands, "")
    paths = [path for path in paths if path]
    if not paths:
        return None
    places = [call.place(path) for path in paths]
    if is_chmod and _SETUID_MODE.fullmatch(mode):
        return _danger(
            f"chmod {mode} lets a program run with its owner's rights", "run it as the user who needs it"
        )
    on_machine = not MACHINE.isdisjoint(places)
    if is_chmod and _OPEN_MODE.fullmatch(mode) and (is_recursive or on_machine):
        return _danger(
            f"chmod {mode} makes files writable by everyone", "use chmod u+rwX on the files that need it"
        )
    if is_recursive and on_machine:
        return _danger(f"{call.program} -R changes a part of the system", _OWN_FILES)
    if call.program != "chattr" and not {Place.ROOT, Place.DEVICE}.isdisjoint(places):
        return _danger(f"{call.program} changes a part of the system", _OWN_FILES)
    for path, place in zip(paths, places, strict=True):
        if is_chmod and _closes(mode, path, place, is_recursive=is_recursive):
            return _danger(
                f"chmod {mode} locks the user out of {path}", "take rights from others only (go-rwx)"
            )
    return None


def _danger(what: str, instead: str) -> Danger:
    return Danger("permissions", what, instead)


def _closes(mode: str, path: str, place: Place, *, is_recursive: bool) -> bool:
    """The files below a folder, or the project, become useless to their owner."""
    is_whole = place is Place.PROJECT and is_recursive and "**" not in path
    if is_whole and _FOLDER_CLOSING_MODE.fullmatch(mode):
        return True
    is_much = place is Place.PROJECT or (is_recursive and place is not Place.TEMPORARY)
    return is_much and not is_regenerated(path) and _CLOSED_MODE.fullmatch(mode) is not None
