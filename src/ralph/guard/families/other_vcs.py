"""Mercurial and Subversion: throwing away uncommitted work."""

from __future__ import annotations

from ralph.guard.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.options import has_flag, split_options


def check_other_vcs(call: Call) -> Danger | None:
    if call.program not in ("hg", "svn", "jj"):
        return None
    options, operands = split_options(call.arguments)
    verb = operands[0] if operands else ""
    discards = {
        "hg": (verb in ("update", "up", "checkout", "co") and has_flag(options, "C", "clean"))
        or (verb == "revert" and has_flag(options, "a", "all"))
        or verb in ("strip", "purge", "rollback"),
        "svn": (verb == "revert" and has_flag(options, "R", "recursive"))
        or (verb == "cleanup" and has_flag(options, long="remove-unversioned")),
        "jj": operands[:2] == ["op", "abandon"],
    }
    if discards[call.program]:
        return Danger(
            "git", f"{call.program} {verb} throws away changes", "commit the work first, or ask the user"
        )
    return None
