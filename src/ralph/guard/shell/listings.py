"""What find, fd, ls, git ls-files, pgrep, ps and docker ps list, as far as their words say: patterns in place of names."""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.guard.marks import EVERYTHING, INPUT
from ralph.guard.options import split_options, value_of_option, words_in


class FindCall(NamedTuple):
    removed: list[str]
    """What ``-delete`` removes, as patterns: ``./**/*.pyc``."""
    commands: list[list[str]]
    """What ``-exec`` and its kin run, with patterns for ``{}``."""
    listed: list[str]
    """What it prints, as patterns."""
    may_gain_actions: bool
    """Words from stdin come where ``-delete`` could be."""


_FIND_VALUED = words_in(
    "-regex -iregex -lname -ilname -xtype -size -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -user -group -uid"
    " -gid -perm -links -inum -samefile -maxdepth -mindepth -fstype -used -printf -fprint -fprint0 -fls -regextype -context"
    " -D -files0-from"
)
_FIND_NAMES = words_in("-name -iname -path -ipath -wholename -iwholename")
_FIND_RUNNERS = ("-exec", "-execdir", "-ok", "-okdir")
_EMPTY_FOLDER = "tmp"
"""An empty folder is as good as a temporary one."""


class _Tests:
    """The tests before an action: each alternative must name what it wants."""

    def __init__(self, roots: list[str]) -> None:
        self._roots = roots
        self._names: list[str] = []
        self._alternatives = 1
        self.is_negated = False
        self.wants_folders = False

    def add_name(self, name: str) -> None:
        if not self.is_negated and name.strip("*./"):
            self._names.append(name)

    def add_alternative(self) -> None:
        self._alternatives += 1

    def patterns(self) -> list[str]:
        if len(self._names) < self._alternatives:
            return [f"{root}/**" for root in self._roots]
        return [
            name if "/" in name and name.startswith(root) else f"{root}/**/{name.removeprefix('*/')}"
            for root in self._roots
            for name in self._names
        ]


def read_find(arguments: list[str]) -> FindCall:
    at = 0
    while at < len(arguments) and (arguments[at] in ("-H", "-L", "-P") or arguments[at].startswith("-O")):
        at += 1
    roots: list[str] = []
    while at < len(arguments) and not arguments[at].startswith(("-", "(", "!")):
        roots.append(arguments[at].rstrip("/") or "/")
        at += 1
    may_gain = any(root.startswith(INPUT) for root in roots)
    tests = _Tests(roots or ["."])
    removed: list[str] = []
    commands: list[list[str]] = []
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word in ("!", "-not"):
            tests.is_negated = True
            continue
        if word == "-delete":
            removed += tests.patterns()
        elif word in _FIND_RUNNERS:
            command: list[str] = []
            while at < len(arguments) and arguments[at] not in (";", "+", "\\;"):
                command.append(arguments[at])
                at += 1
            at += 1
            commands.append(_fill_places(command, tests.patterns()))
        elif word in ("-o", "-or", ","):
            tests.add_alternative()
        elif word in _FIND_NAMES:
            tests.add_name(arguments[at] if at < len(arguments) else "")
            at += 1
        elif word == "-type":
            tests.wants_folders = arguments[at : at + 1] == ["d"]
            at += 1
        elif word == "-empty" and tests.wants_folders:
            tests.add_name(_EMPTY_FOLDER)
        elif word == "-fprintf":
            at += 2
        elif word in _FIND_VALUED or re.fullmatch(r"-newer[aBcm][aBcmt]", word):
            at += 1
        elif word.startswith(INPUT) or (word.startswith("-") and INPUT in word):
            may_gain = True
        tests.is_negated = False
    return FindCall(removed, commands, tests.patterns(), may_gain)


def _fill_places(command: list[str], patterns: list[str]) -> list[str]:
    filled: list[str] = []
    for word in command:
        if word == "{}":
            filled += patterns
        else:
            filled.append(word.replace("{}", patterns[0]))
    return filled


_FD_VALUED = words_in(
    "-e --extension -t --type -d --max-depth --min-depth -E --exclude -c --color -j --threads -S --size --changed-within"
    " --changed-before -o --owner --base-directory --exact-depth"
)


def read_fd(arguments: list[str]) -> FindCall:
    """``fd PATTERN ROOT… -x COMMAND``."""
    at = next(
        (n for n, word in enumerate(arguments) if word in ("-x", "--exec", "-X", "--exec-batch")),
        len(arguments),
    )
    own, command = arguments[:at], arguments[at + 1 :]
    _, operands = split_options(own, _FD_VALUED)
    extension = value_of_option(own, ("-e", "--extension"))
    name = f"*.{extension}" if extension else "".join(operands[:1]).strip("^$")
    tests = _Tests([root.rstrip("/") or "/" for root in operands[1:]] or ["."])
    tests.add_name(name)
    if command and not any("{" in word for word in command):
        command = [*command, "{}"]
    commands = [_fill_places(command, tests.patterns())] if command else []
    return FindCall([], commands, tests.patterns(), False)


_PGREP_VALUED = words_in("-u -U -g -G -P -t -s -d --euid --uid --parent --pgroup --signal")


def list_names(program: str, arguments: list[str], stdin: str | None) -> str | None:
    """What a program would list; None if its words do not say."""
    options, operands = split_options(arguments)
    if program in ("find", "gfind"):
        find = read_find(arguments)
        return None if find.commands or find.removed or "-printf" in arguments else "\n".join(find.listed)
    if program in ("fd", "fdfind"):
        return None if "-x" in arguments or "-X" in arguments else "\n".join(read_fd(arguments).listed)
    if program == "ls":
        is_plain = all("*" in operand for operand in operands)
        return ("\n".join(operands) or "./*") if is_plain else None
    if program == "git" and operands[:1] == ["ls-files"]:
        return "\n".join(f"./**/{name}" for name in operands[1:]) or "./**"
    if program in ("docker", "podman", "nerdctl") and {"ps", "ls", "images"} & set(operands[:2]):
        is_chosen = any(option.startswith(("-f", "--filter", "-n", "-l")) for option in options)
        return None if is_chosen else EVERYTHING + program
    if program in ("pgrep", "pidof", "ps"):
        _, names = split_options(arguments, _PGREP_VALUED)
        is_child = not {"-P", "--parent"}.isdisjoint(options)
        return _name_all("" if program == "ps" else "children" if is_child else " ".join(names))
    return _filter_names(program, options, operands, stdin)


def _name_all(pattern: str) -> str:
    """All processes that match, as one word."""
    return EVERYTHING + "+".join(re.sub(r"[][]", "", pattern).split())


def _filter_names(program: str, options: list[str], operands: list[str], stdin: str | None) -> str | None:
    """What is left of a listing after grep, awk, sort …"""
    if stdin is None or not (stdin.startswith(EVERYTHING) or "**" in stdin):
        return None
    if program in ("sort", "uniq", "tr"):
        return stdin
    if program == "grep" and any(option[:2] != "--" and "v" in option for option in options):
        return stdin
    if not stdin.startswith(EVERYTHING):
        return None
    if program in ("grep", "egrep"):
        return _name_all(f"{stdin.strip(EVERYTHING)} {' '.join(operands)}")
    return stdin if program in ("awk", "cut", "tr", "head", "tail", "sed") else None
