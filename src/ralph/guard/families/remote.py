"""Optional pack: files on other machines. What ssh runs there is judged by default, like a command here."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import has_flag, split_options

_SYSTEM_TARGET = LazyPattern(r"[^:]+:/(?:(?:etc|usr|bin|sbin|lib\w*|boot|var|root|sys|dev|opt)(?:/.*)?)?")
_VALUED = ("-P", "-i", "-o", "-F", "-e", "--rsh", "-l", "-J", "-S", "-c", "--exclude", "--include")


def check_remote(call: Call) -> Danger | None:
    if not call.rules.has_pack("remote"):
        return None
    options, operands = split_options(call.arguments, _VALUED)
    short = [option for option in options if option[:2] != "--" or option == "--dry-run"]
    if call.program == "rsync" and not has_flag(short, "n", "dry-run"):
        if any(option.startswith(("--del", "--remove-source-files")) for option in options):
            what = "rsync deletes files on one side"
            return Danger("remote", what, "run it with --dry-run first and show the user")
    elif call.program == "scp" and operands and _SYSTEM_TARGET.fullmatch(operands[-1]):
        what = "this overwrites system files on another machine"
        return Danger("remote", what, "copy to a home directory on that machine")
    elif call.program == "ssh-add" and (has_flag(options, "d") or has_flag(options, "D")):
        return Danger("remote", "this removes keys from the user's ssh agent", "leave them as they are")
    elif call.program == "ssh-keygen" and has_flag(options, "R"):
        return Danger("remote", "this removes a known host", "leave it as it is")
    return None
