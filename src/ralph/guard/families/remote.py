"""Optional pack: other machines. What ssh runs there is judged like a command here."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import has_flag, split_options

_SYSTEM_TARGET = LazyPattern(
    r"[^:]+:/(?:$|etc|usr|bin|sbin|lib\w*|boot|var|root|sys|dev|opt)(?:/.*)?$|[^:]+:/$"
)


def check_remote(call: Call) -> Danger | None:
    options, operands = split_options(
        call.arguments,
        ("-P", "-i", "-o", "-F", "-e", "--rsh", "-l", "-J", "-S", "-c", "--exclude", "--include"),
    )
    if (
        call.program == "rsync"
        and not has_flag(
            [option for option in options if option[:2] != "--" or option == "--dry-run"], "n", "dry-run"
        )
        and any(option.startswith(("--del", "--remove-source-files")) for option in options)
    ):
        return Danger(
            "remote", "rsync deletes files on one side", "run it with --dry-run first and show the user"
        )
    if call.program == "scp" and operands and _SYSTEM_TARGET.fullmatch(operands[-1]):
        return Danger(
            "remote",
            "this overwrites system files on another machine",
            "copy to a home directory on that machine",
        )
    if call.program == "ssh-add" and has_flag(options, "d") | has_flag(options, "D"):
        return Danger("remote", "this removes keys from the user's ssh agent", "leave them as they are")
    if call.program == "ssh-keygen" and has_flag(options, "R"):
        return Danger("remote", "this removes a known host", "leave it as it is")
    if call.program == "ssh" and any("rm /etc" in word or "rm -f /etc" in word for word in operands):
        return Danger("remote", "this removes system files on another machine", "ask the user to do it")
    return None
