"""``judge``: is this shell command dangerous? Never raises, never runs anything, bounded in time."""

from __future__ import annotations

from ralph.guard.examining import DangerFound
from ralph.guard.judgement import ALLOWED, DEFAULT_RULES, Danger, GuardRules, Judgement, blocked
from ralph.guard.marks import INPUT, UNKNOWN
from ralph.guard.reading import read_script
from ralph.guard.scope import Scope
from ralph.guard.starting import Examiner
from ralph.guard.word_reading import TOO_DEEP, TooComplex

MAX_COMMAND_CHARS = 200_000
_DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0xFE63, 0xFF0D), "-")
"""Signs that look like a hyphen: a person who copies the command reads an option."""
_SHORTER = "split it into shorter commands that can be read"


def judge(command: str, rules: GuardRules = DEFAULT_RULES) -> Judgement:
    if command.strip() in rules.allow:
        return ALLOWED
    if len(command) > MAX_COMMAND_CHARS:
        return _unreadable("the command is too long to be judged")
    # A stray one of our own signs must not pass for what we put there.
    text = (
        command.translate(_DASHES)
        .replace(UNKNOWN, "\ufffd")
        .replace(INPUT, "\ufffd")
        .replace("\r\n", "\n")
        .replace("\0", "")
    )
    try:
        read = read_script(text)
        Examiner(rules, is_torn=read.is_torn).script(read.script, Scope())
    except DangerFound as found:
        return blocked(found.danger)
    except TooComplex as error:
        return _unreadable(str(error))
    except RecursionError:
        return _unreadable(TOO_DEEP)
    except Exception as error:
        # Fails closed: a mistake of ours must not let a command through, nor stop the agent's session.
        return _unreadable(f"the guard could not read the command ({type(error).__name__})")
    return ALLOWED


def _unreadable(what: str) -> Judgement:
    return blocked(Danger("unreadable", what, _SHORTER))
