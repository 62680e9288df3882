"""Mercurial, Subversion and Jujutsu: discarding uncommitted work."""

from __future__ import annotations

from ralph.guard.families.call import Call, Rule, Words, find_danger
from ralph.guard.judgement import Danger
from ralph.guard.options import split_options


def check_other_vcs(call: Call) -> Danger | None:
    discards = _DISCARDS.get(call.program)
    if discards is None:
        return None
    rule = Rule(discards, "{program} {verb} discards changes", "commit the work first, or ask the user")
    return find_danger("git", (rule,), Words(call, call.arguments, *split_options(call.arguments)))


def _hg_discards(words: Words) -> bool:
    return (
        words.verb in ("strip", "purge", "rollback")
        or (words.verb == "revert" and words.has("a", "all"))
        or (words.verb in ("update", "up", "checkout", "co") and words.has("C", "clean"))
    )


def _svn_discards(words: Words) -> bool:
    return (words.verb == "revert" and words.has("R", "recursive")) or (
        words.verb == "cleanup" and words.has(long="remove-unversioned")
    )


def _jj_discards(words: Words) -> bool:
    return words.operands[:2] == ["op", "abandon"]


_DISCARDS = {"hg": _hg_discards, "svn": _svn_discards, "jj": _jj_discards}
