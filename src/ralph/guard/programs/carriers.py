"""Programs that run commands on many things: find, xargs, parallel."""

from __future__ import annotations

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import MAX_PARALLEL_VALUES
from ralph.guard.marks import INPUT, UNKNOWN, is_partly_opaque
from ralph.guard.options import (
    base_name,
    read_own_words,
    split_words,
    value_of_option,
    words_in,
)
from ralph.guard.places import Place, is_regenerated, join_path
from ralph.guard.program_lists import SHELLS
from ralph.guard.shell.listings import read_fd, read_find
from ralph.guard.walk import Start, Walk, refuse, refuse_hidden

_LIST_FIRST = "list the files with -print first, then rm them by name"


def start_find(walk: Walk, start: Start) -> None:
    find = read_find(start.words[1:])
    if find.may_gain_actions:
        refuse_hidden("words from stdin may become find actions")
    if not all(_may_go(pattern, walk.place_of(pattern, start.scope)) for pattern in find.removed):
        refuse("files", "find -delete removes everything that matches", _LIST_FIRST)
    for command in find.commands:
        if command and base_name(command[0]) in ("chmod", "chown", "chgrp"):
            # On every file below a root is as good as recursive.
            walk.ask_families(start._replace(words=[command[0], "-R", *command[1:]]))
        _start_each(walk, start, command, start.scope.cwd)


def start_fd(walk: Walk, start: Start) -> None:
    for command in read_fd(start.words[1:]).commands:
        _start_each(walk, start, command, start.scope.cwd)


def _may_go(pattern: str, place: Place) -> bool:
    """Everything that matches may be removed: it is temporary, or is made again."""
    if place is Place.TEMPORARY:
        return not set(pattern.partition("/**")[0]) & {*"*?[", UNKNOWN, INPUT} and ".." not in pattern
    return place is Place.INSIDE and is_regenerated(pattern)


def _start_each(walk: Walk, start: Start, command: list[str], cwd: str) -> None:
    """A carrier starts its commands in a new scope, with unknown stdin."""
    scope = start.scope.copy()
    scope.cwd = cwd
    inner = walk.deeper()
    inner.start(inner, Start(command, scope, environment=start.environment))


_XARGS_VALUED = words_in(
    "-I -J -n -P -L -d -E -e -s -a -R -S --max-args --max-procs --max-lines --delimiter --eof --max-chars "
    "--arg-file --process-slot-var"
)


def read_xargs(arguments: list[str]) -> list[str]:
    """The command with ``INPUT`` where the words from stdin go."""
    own = read_own_words(arguments, _XARGS_VALUED)
    command = own.command
    placeholder = "".join(own.values("-I", "-J")[-1:])
    old_form = [
        (value if name == "--replace" else name[2:]) or "{}"
        for name, value in own.options
        if name.startswith(("-i", "--replace"))
    ]
    if not command:
        return ["echo", INPUT]
    if old_form and any(old_form[0] in word for word in command):
        placeholder = old_form[0]
    if placeholder:
        return [word.replace(placeholder, INPUT) for word in command]
    return [*command, INPUT]


def _values_of(start: Start) -> list[str]:
    """The words that come on stdin, if they are known and not too many."""
    text = start.feed.text or ""
    values = [] if is_partly_opaque(text) else split_words(text.replace("\0", "\n"))
    return values if len(values) <= MAX_PARALLEL_VALUES else []


def start_xargs(walk: Walk, start: Start) -> None:
    command = read_xargs(start.words[1:])
    if any(_is_code_with_input(command, number) for number in range(len(command))):
        what = "words from stdin become part of a script"
        refuse("hidden", what, "pass them as \"$1\": sh -c '…' _ {}")
    values = _values_of(start)
    if values and command[-1] == INPUT:
        _start_each(walk, start, [*command[:-1], *values], start.scope.cwd)
        return
    for value in values or [INPUT]:
        _start_each(walk, start, [word.replace(INPUT, value) for word in command], start.scope.cwd)


def _is_code_with_input(words: list[str], number: int) -> bool:
    """``sh -c '… {} …'``: xargs puts the words in as they are, quotes and all."""
    return (
        number >= 2
        and INPUT in words[number]
        and words[number - 1] == "-c"
        and base_name(words[number - 2]) in SHELLS
    )


_PARALLEL_VALUED = words_in(
    "-j -n -N -L -I -a -S -C -E -P -s --jobs --max-args --max-replace-args --results --joblog --delay "
    "--timeout --retries --arg-file --colsep --workdir --wd --tmpdir --sshlogin --halt --load --memfree "
    "--nice --tagstring --rpl --env --basefile --return --block --recstart --recend --delimiter -d "
    "--max-procs --header --shuf-seed --tempdir"
)
_PARALLEL_PLACES = LazyPattern(r"\{(?:\d+|[.#%/]|//|/\.|\d+[./]+)?\}")


def read_parallel(arguments: list[str], given: list[str]) -> list[list[str]] | None:
    """The commands that it runs; None if they are not known."""
    separators = [number for number, word in enumerate(arguments) if word.startswith(":::")]
    own = read_own_words(arguments[: separators[0]] if separators else arguments, _PARALLEL_VALUED)
    names = {name for name, _ in own.options}
    if not names.isdisjoint(words_in("--dry-run --dryrun --dry --version --help --citation")):
        return []
    values = (
        [word for word in arguments[separators[0] :] if not word.startswith(":::")] if separators else given
    )
    if any(word.startswith("::::") for word in arguments):  # their words are in files
        values = []
    rewrites = "--rpl" in names or any("{=" in word for word in own.command)
    if rewrites or len(values) > MAX_PARALLEL_VALUES or not (own.command or values):
        return None
    return [_fill(own.command, value) for value in values or [INPUT]]


def _fill(command: list[str], value: str) -> list[str]:
    if any(_PARALLEL_PLACES.search(word) for word in command):
        return [_PARALLEL_PLACES.sub(lambda _: value, word) for word in command]
    return [*command, value]


def start_parallel(walk: Walk, start: Start) -> None:
    commands = read_parallel(start.words[1:], _values_of(start))
    if commands is None:
        refuse_hidden("parallel runs commands from stdin")
    folder = value_of_option(start.words[1:], ("--workdir", "--wd"))
    cwd = join_path(start.scope.cwd, folder) if folder else start.scope.cwd
    for command in commands:
        _start_each(walk, start, command, cwd)
