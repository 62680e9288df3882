"""Programs that run commands on many things: find, xargs, parallel."""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import MAX_FIND_COMMANDS, MAX_PARALLEL_VALUES, TOO_MANY_PROGRAMS, TooComplex
from ralph.guard.marks import INPUT, UNKNOWN
from ralph.guard.options import base_name, has_flag, split_options, words_after_options, words_in
from ralph.guard.places import MACHINE, Place, join_path
from ralph.guard.program_lists import SHELLS
from ralph.guard.shell.syntax import scripts_of
from ralph.guard.walk import Start, Walk, refuse, refuse_hidden


class FindCall(NamedTuple):
    roots: list[str]
    deletes: bool
    commands: list[list[str]]
    """What ``-exec`` and its kin run; ``{}`` is a path below a root."""
    may_gain_actions: bool
    """Words from stdin come where ``-delete`` could be."""


_FIND_VALUED = words_in(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size "
    "-mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -user -group -uid -gid -perm -links "
    "-inum -samefile -maxdepth -mindepth -fstype -used -printf -fprint -fprint0 -fls -regextype -context "
    "-D -files0-from"
)
_FIND_RUNNERS = ("-exec", "-execdir", "-ok", "-okdir")


def read_find(arguments: list[str]) -> FindCall:
    at = 0
    while at < len(arguments) and (arguments[at] in ("-H", "-L", "-P") or arguments[at].startswith("-O")):
        at += 1
    roots: list[str] = []
    while at < len(arguments) and not arguments[at].startswith(("-", "(", "!")):
        roots.append(arguments[at])
        at += 1
    deletes = False
    may_gain = any(root.startswith(INPUT) for root in roots)
    commands: list[list[str]] = []
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word == "-delete":
            deletes = True
        elif word in _FIND_RUNNERS:
            command: list[str] = []
            while at < len(arguments) and arguments[at] not in (";", "+", "\\;"):
                command.append(arguments[at].replace("{}", f"{(roots or ['.'])[0]}/{UNKNOWN}"))
                at += 1
            at += 1
            commands.append(command)
        elif word == "-fprintf":
            at += 2
        elif word in _FIND_VALUED or re.fullmatch(r"-newer[aBcm][aBcmt]", word):
            at += 1
        elif word.startswith(INPUT) or (word.startswith("-") and INPUT in word):
            may_gain = True
    return FindCall(roots or ["."], deletes, commands, may_gain)


def start_find(walk: Walk, start: Start) -> None:
    find = read_find(start.words[1:])
    instead = "list the files with -print first, then rm them by name"
    if find.may_gain_actions:
        refuse_hidden("words from stdin may become find actions")
    places = {walk.place_of(root, start.scope) for root in find.roots}
    is_computed = start.source is not None and bool(scripts_of(start.source))
    is_plain = not any(set(root) & {*"*?[", UNKNOWN, INPUT} or ".." in root for root in find.roots)
    is_temporary = places == {Place.TEMPORARY} and is_plain and not is_computed
    if find.deletes and not is_temporary:
        refuse("files", "find -delete removes everything that matches", instead)
    if len(find.commands) > MAX_FIND_COMMANDS:
        raise TooComplex(TOO_MANY_PROGRAMS)
    for command in find.commands:
        if not is_temporary and (_removes_trees(command) or (places & MACHINE and _removes(command))):
            refuse("files", "find runs rm on everything that matches", instead)
        if command and base_name(command[0]) in ("chmod", "chown", "chgrp"):
            # On every file below a root is as good as recursive.
            whole = [word.replace(f"/{UNKNOWN}", "") or "/" for word in command[1:]]
            walk.ask_families(start._replace(words=[command[0], "-R", *whole]))
        _start_each(walk, start, command, start.scope.cwd)


def _removes(words: list[str]) -> bool:
    return any(base_name(word) in ("rm", "unlink", "shred") for word in words)


def _removes_trees(words: list[str]) -> bool:
    """rm -rf, whatever wraps it."""
    for number, word in enumerate(words):
        if base_name(word) == "rm":
            options, _ = split_options(words[number + 1 :])
            if any(UNKNOWN in option for option in options):
                return True
            recursive = has_flag(options, "r", "recursive") or has_flag(options, "R")
            return recursive and has_flag(options, "f", "force")
    return False


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
    placeholder = ""
    command = words_after_options(arguments, _XARGS_VALUED)
    own = arguments[: len(arguments) - len(command)]
    for number, word in enumerate(own):
        if word in ("-I", "-J") and number + 1 < len(own):
            placeholder = own[number + 1]
        elif word.startswith(("-I", "-J")) and len(word) > 2:
            placeholder = word[2:]
        elif word in ("-i", "--replace"):
            placeholder = "{}"
        elif word.startswith(("-i", "--replace=")):
            placeholder = (word.partition("=")[2] if word.startswith("--") else word[2:]) or "{}"
    if not command:
        return ["echo", INPUT]
    is_old_form = any(word.startswith(("-i", "--replace")) for word in own)
    if placeholder and (not is_old_form or any(placeholder in word for word in command)):
        return [word.replace(placeholder, INPUT) for word in command]
    return [*command, INPUT]


def start_xargs(walk: Walk, start: Start) -> None:
    command = read_xargs(start.words[1:])
    if any(_is_code_with_input(command, number) for number in range(len(command))):
        what = "words from stdin become part of a script"
        refuse("hidden", what, "pass them as \"$1\": sh -c '…' _ {}")
    _start_each(walk, start, command, start.scope.cwd)


def _is_code_with_input(words: list[str], number: int) -> bool:
    """``sh -c '… {} …'``: xargs puts the words in as they are, quotes and all."""
    return (
        number >= 2
        and INPUT in words[number]
        and words[number - 1] == "-c"
        and base_name(words[number - 2]) in SHELLS
    )


class ParallelCall(NamedTuple):
    commands: list[list[str]]
    is_dry: bool
    reads_commands: bool
    """Without a command, it runs what comes on stdin."""
    directory: str


_PARALLEL_VALUED = words_in(
    "-j -n -N -L -I -a -S -C -E -P -s --jobs --max-args --max-replace-args --results --joblog --delay "
    "--timeout --retries --arg-file --colsep --workdir --wd --tmpdir --sshlogin --halt --load --memfree "
    "--nice --tagstring --rpl --env --basefile --return --block --recstart --recend --delimiter -d "
    "--max-procs --header --shuf-seed --tempdir"
)
_PARALLEL_PLACES = LazyPattern(r"\{(?:\d+|[.#%/]|//|/\.|\d+[./]+)?\}")


def read_parallel(arguments: list[str]) -> ParallelCall:
    separators = [number for number, word in enumerate(arguments) if re.fullmatch(r":::\+?|::::\+?", word)]
    before = arguments[: separators[0]] if separators else arguments
    values: list[str] = []
    from_file = False
    for start, end in zip(separators, [*separators[1:], len(arguments)], strict=False):
        if arguments[start].startswith("::::"):
            from_file = True
        values += arguments[start + 1 : end]
    if from_file or not separators:
        values = [INPUT]
    command = words_after_options(before, _PARALLEL_VALUED)
    own = before[: len(before) - len(command)]
    directory = ""
    for number, word in enumerate(own):
        if word in ("--workdir", "--wd") and number + 1 < len(own):
            directory = own[number + 1]
        elif word.startswith(("--workdir=", "--wd=")):
            directory = word.partition("=")[2]
    is_dry = any(word in ("--dry-run", "--dryrun", "--dry") for word in own)
    rewrites = any(word == "--rpl" or word.startswith("--rpl=") for word in own) or any(
        "{=" in word for word in command
    )
    if not command and any(word in ("--version", "--help", "-V", "-h", "--citation") for word in own):
        return ParallelCall([], True, False, directory)
    if not command:
        return ParallelCall(
            [[value] for value in values if value != INPUT], is_dry, INPUT in values, directory
        )
    commands = [_fill(command, value) for value in values[:MAX_PARALLEL_VALUES] or ["x"]]
    return ParallelCall(commands, is_dry, rewrites or len(values) > MAX_PARALLEL_VALUES, directory)


def _fill(command: list[str], value: str) -> list[str]:
    if any(_PARALLEL_PLACES.search(word) for word in command):
        return [_PARALLEL_PLACES.sub(lambda _: value, word) for word in command]
    return [*command, value]


def start_parallel(walk: Walk, start: Start) -> None:
    parallel = read_parallel(start.words[1:])
    if parallel.reads_commands:
        refuse_hidden("parallel runs commands from stdin")
    if parallel.is_dry:
        return
    cwd = start.scope.cwd
    for command in parallel.commands:
        _start_each(walk, start, command, join_path(cwd, parallel.directory) if parallel.directory else cwd)
