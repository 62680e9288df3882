"""Programs that hand a text to a shell: su, watch, ssh, vim, at, cmd …"""

from __future__ import annotations

import shlex

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import (
    base_name,
    has_flag,
    split_options,
    split_words,
    value_of_option,
    words_after_options,
    words_in,
)
from ralph.guard.programs.wrappers import wrapped_command
from ralph.guard.script_walk import walk_text
from ralph.guard.shell.scope import Scope
from ralph.guard.walk import NOTHING, Start, Walk

_SSH_VALUED = words_in("-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w")

_KEY_ADDED = LazyPattern(r">>\s*\S*\.ssh/authorized_keys")


def start_su(walk: Walk, start: Start) -> None:
    """``su -c``, ``flock FILE -c``, ``script -c``: a text for a shell among the options."""
    words = start.words[1:]
    text = value_of_option(words, ("-c", "--command"))
    if text is not None:
        walk_text(walk, text, start.scope.copy())
        return
    if base_name(start.words[0]) == "flock":
        _, operands = split_options(words, ("-w", "-E", "--timeout"))
        walk.start(walk, start.with_words(operands[1:]))


def start_watch(walk: Walk, start: Start) -> None:
    wrapped = wrapped_command("watch", start.words[1:]) or []
    if wrapped and not has_flag(start.words[1:2], "x", "exec"):
        text = wrapped[0] if len(wrapped) == 1 else shlex.join(wrapped)
        walk_text(walk, text, start.scope.copy())
    else:
        walk.start(walk, start.with_words(wrapped))


def start_ssh(walk: Walk, start: Start) -> None:
    """What it runs on another machine is judged like a command here."""
    walk.ask_families(start)
    if walk.rules.is_off("remote"):
        return
    words = words_after_options(start.words[1:], _SSH_VALUED)
    given = start.feed.text
    text = " ".join(words[1:]) or given or ""
    # Adding a key there is how people log in, and there is no other way to write it.
    walk_text(walk, _KEY_ADDED.sub("", text), Scope(), start.feed if given else NOTHING)


def start_cmd(walk: Walk, start: Start) -> None:
    """``cmd /c …``."""
    for number, word in enumerate(start.words):
        if word.lower() in ("/c", "/k"):
            rest = start.words[number + 1 :]
            walk.start(walk, start.with_words(split_words(rest[0]) if len(rest) == 1 else rest))
            return


def start_editor(walk: Walk, start: Start) -> None:
    """``vim -c '!command'``."""
    for word in start.words[1:]:
        command = word.lstrip("+:")
        if command.startswith("!"):
            walk_text(walk, command[1:], start.scope.copy())


def start_at(walk: Walk, start: Start) -> None:
    """``at`` and ``batch`` run what comes on stdin."""
    walk_text(walk, start.feed.text or "", start.scope.copy())
