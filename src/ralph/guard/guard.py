"""``judge``: is this shell command dangerous? Never raises, never runs anything, bounded in time."""

from __future__ import annotations

from ralph.guard.judgement import ALLOWED, DEFAULT_RULES, Danger, GuardRules, Judgement, blocked
from ralph.guard.limits import MAX_COMMAND_CHARS, TOO_DEEP, TooComplex
from ralph.guard.marks import EVERYTHING, INPUT, UNKNOWN
from ralph.guard.programs.handlers import start_program
from ralph.guard.script_walk import walk_script, walk_text
from ralph.guard.shell.scope import Scope
from ralph.guard.shell.scripts import read_script
from ralph.guard.walk import DangerFound, Tally, Walk

_DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0xFE63, 0xFF0D), "-")
"""Characters that look like a hyphen: whoever copies the command reads an option."""
_SHORTER = "split it into shorter commands"


def judge(command: str, rules: GuardRules = DEFAULT_RULES) -> Judgement:
    if command.strip() in rules.allow:
        return ALLOWED
    if len(command) > MAX_COMMAND_CHARS:
        return _unreadable("the command is too long to judge")
    # The guard's own marks must not pass for ones that it put there.
    text = (
        command.translate(_DASHES)
        .replace(UNKNOWN, "\ufffd")
        .replace(INPUT, "\ufffd")
        .replace(EVERYTHING, "\ufffd")
        .replace("\r\n", "\n")
        .replace("\0", "")
    )
    try:
        script, is_torn = read_script(text)
        tally = Tally(is_torn=is_torn)
        walk_script(Walk(rules, tally, start_program), script, Scope())
        while tally.later:
            walk_text(*tally.later.pop())
        for danger in () if tally.is_torn else tally.emptied.values():
            return blocked(danger)
    except DangerFound as found:
        return blocked(found.danger)
    except TooComplex as error:
        return _unreadable(str(error))
    except RecursionError:
        return _unreadable(TOO_DEEP)
    except Exception as error:
        # Fails closed: a bug in the guard must neither let a command through nor stop the agent's session.
        return _unreadable(f"the guard could not read the command ({type(error).__name__})")
    return ALLOWED


def _unreadable(what: str) -> Judgement:
    return blocked(Danger("unreadable", what, _SHORTER))
