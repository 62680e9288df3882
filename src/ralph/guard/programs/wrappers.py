"""Programs that run another command: sudo, env, timeout … A new one is one row."""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.guard.marks import is_opaque
from ralph.guard.options import (
    base_name,
    has_flag,
    is_assignment,
    split_words,
    value_of_option,
    words_after_options,
    words_in,
)
from ralph.guard.places import join_path
from ralph.guard.programs.shells import run_text
from ralph.guard.script_walk import walk_text
from ralph.guard.walk import NOTHING, Start, Walk, refuse


class Wrapper(NamedTuple):
    """How to find the wrapped command."""

    valued: frozenset[str] = frozenset()
    """Options that take the next word as value."""
    operands: int = 0
    """Words of the wrapper's own before the command: a duration, a directory."""
    takes_assignments: bool = False


_TABLE = """
sudo doas :: -u -g -p -C -c -h -D -R -r -t -T -U -a --user --group --prompt --chdir --chroot --host --role --type --close-from --other-user
pkexec run0 :: -u -g -D --user --group --chdir --setenv
nohup command builtin setsid busybox toybox noglob nocorrect unbuffer torsocks rtk shx entr ::
nice ionice :: -n -c -p -P -u --adjustment --class --classdata
time gtime :: -f -o --format --output
exec :: -a
stdbuf :: -i -o -e --input --output --error
cpulimit :: -l -p -e --limit
unshare :: -S -G -R -w --root --wd
nsenter :: -t -S -G --target
fakeroot :: -l -s -i -b
watch :: -n --interval -q --equexit
caffeinate :: -t -w
strace ltrace :: -o -e -p -s -u -E -P -a -b -O -S -X
arch :: -e -d -arch --arch
xvfb-run :: -e -f -n -s -w -p --error-file --auth-file --server-num --server-args
dbus-run-session :: --config-file --dbus-daemon
systemd-run systemd-inhibit :: -p -u -t -M -E --unit --property --slice --working-directory --uid --gid --what --who --why --mode
proxychains proxychains4 :: -f
"""
"""Wrappers, and those of their options that take the next word as value."""
_OPERAND_TABLE = """
timeout gtimeout :: -s -k --signal --kill-after
chrt taskset chroot :: -T -P -D
"""
"""Those that take a word of their own before the command: a duration, a directory."""


def _read_table(text: str, operands: int) -> dict[str, Wrapper]:
    rows = [line.partition(" ::") for line in text.strip().splitlines()]
    return {
        program: Wrapper(words_in(valued), operands, program in ("sudo", "doas"))
        for programs, _, valued in rows
        for program in programs.split()
    }


WRAPPERS = _read_table(_TABLE, 0) | _read_table(_OPERAND_TABLE, 1)

_RUNNERS = {
    "mise": ("exec", "x"),
    **dict.fromkeys(("direnv", "rbenv", "pyenv", "asdf", "bundle", "aws-vault"), ("exec",)),
    **dict.fromkeys(
        ("poetry", "pipenv", "uv", "pdm", "hatch", "rye", "conda", "op", "doppler", "dotenvx"), ("run",)
    ),
    "nix": ("run", "shell", "develop"),
    "flatpak-spawn": ("--host",),
}
"""Program and subcommand, then options, then the command."""


def wrapped_command(program: str, arguments: list[str]) -> list[str] | None:
    """The words of the command that ``program`` runs; None if it is not a wrapper."""
    if program in _RUNNERS:
        if arguments[:1] and arguments[0] in _RUNNERS[program]:
            if "--" in arguments:
                return arguments[arguments.index("--") + 1 :]
            skipped = 2 if program == "direnv" else 1
            command = words_after_options(arguments[skipped:], ())
            is_python = (
                program == "uv" and bool(command) and (command[0] == "-" or command[0].endswith(".py"))
            )
            return ["python", *command] if is_python else command
        return None
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    if program == "command" and arguments[:1] and arguments[0] in ("-v", "-V"):
        return []
    rest = words_after_options(arguments, wrapper.valued, skips_assignments=wrapper.takes_assignments)
    return rest[wrapper.operands :]


_PACKAGE_RUNNERS = {
    **dict.fromkeys(("npx", "bunx", "pnpx"), frozenset[str]()),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset(("exec", "dlx", "x"))),
}
_PACKAGE_VALUED = frozenset(
    ["-p", "--package", "-w", "--workspace", "-c", "--call", "--filter", "-F", "--cwd"]
)
_PACKAGES = words_in("prisma rimraf shx del-cli knex sequelize sequelize-cli typeorm mikro-orm supabase")
"""Programs that pnpm and yarn also start without a subcommand."""


def package_command(program: str, arguments: list[str]) -> list[str] | None:
    """The command of ``npx rimraf@5 dist``, ``pnpm dlx …``, ``yarn prisma …``; None if it is none of them."""
    verbs = _PACKAGE_RUNNERS.get(program)
    if verbs is None:
        return None
    words = words_after_options(arguments, _PACKAGE_VALUED)
    if verbs and words[:1] == ["run"] and words[1:2] and words[1] in _PACKAGES:
        words = [word for word in words[1:] if word != "--"]
    elif verbs and words[:1] and words[0] in verbs:
        words = words_after_options(words[1:], _PACKAGE_VALUED)
    elif verbs and not (words and words[0] in _PACKAGES):
        return None
    name = words[0] if words else ""
    return [name[:1] + name[1:].partition("@")[0], *words[1:]]


def start_package(walk: Walk, start: Start, command: list[str]) -> None:
    words = start.words[1:]
    package = value_of_option(words, ("-p", "--package")) or ""
    if any(re.match(r"(?:git\+)?https?://", word) for word in (command[0], package)):
        what = "this runs a program straight from the network"
        refuse("network", what, "install it, read it, then run it by name")
    text = value_of_option(words, ("-c", "--call"))
    if text and not command[0]:
        walk_text(walk, text, start.scope.copy())
    walk.start(walk, start.beyond_shell(command))


class EnvCall(NamedTuple):
    """``env``: variables that it sets, then a command."""

    assignments: list[tuple[str, str]]
    command: list[str]
    split_text: str | None
    """What ``-S`` gave: to be cut into words first."""
    directory: str | None


_ENV_VALUED = frozenset(["-u", "--unset", "-C", "--chdir", "-P", "-a", "--argv0"])


def read_env(arguments: list[str]) -> EnvCall:
    assignments: list[tuple[str, str]] = []
    split_text: str | None = None
    directory: str | None = None
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            at += 1
            break
        if word in ("-S", "--split-string"):
            split_text = arguments[at + 1] if at + 1 < len(arguments) else ""
            at += 2
            break
        if word.startswith(("-S", "--split-string=")):
            split_text = word.partition("=")[2] if word.startswith("--") else word[2:]
            at += 1
            break
        if is_assignment(word) and not word.startswith("-"):
            name, _, value = word.partition("=")
            assignments.append((name, value))
            at += 1
        elif word.startswith("--chdir="):
            directory = word.partition("=")[2]
            at += 1
        elif word in _ENV_VALUED:
            if word in ("-C", "--chdir") and at + 1 < len(arguments):
                directory = arguments[at + 1]
            at += 2
        elif word.startswith("-"):
            at += 1
        else:
            break
    rest = arguments[at:]
    while rest and split_text is None and is_assignment(rest[0]):
        name, _, value = rest[0].partition("=")
        assignments.append((name, value))
        rest = rest[1:]
    return EnvCall(assignments, rest, split_text, directory)


def start_wrapped(walk: Walk, start: Start, wrapped: list[str]) -> None:
    name = base_name(start.words[0])
    # As a word of the shell, `time` measures functions too; after an assignment it is a program.
    has_prefix = start.source is not None and bool(start.source.assignments)
    stays = name in ("builtin", "command") or (name == "time" and not has_prefix)
    walk.start(walk, start.with_words(wrapped) if stays else start.beyond_shell(wrapped))


def start_sudo(walk: Walk, start: Start) -> None:
    words = start.words[1:]
    wrapped = wrapped_command(base_name(start.words[0]), words) or []
    own = words[: len(words) - len(wrapped)]
    for number, word in enumerate(own[:-1]):
        if word in ("-D", "--chdir"):
            start.scope.cwd = join_path(start.scope.cwd, own[number + 1])
    for word in own:
        if word.startswith("--chdir="):
            start.scope.cwd = join_path(start.scope.cwd, word.partition("=")[2])
    if not wrapped and own and has_flag(own, "s") and start.feed != NOTHING:
        run_text(walk, start, start.feed.text, start.feed.origin)
    walk.start(walk, start.with_words(wrapped))


def start_env(walk: Walk, start: Start) -> None:
    env = read_env(start.words[1:])
    scope = start.scope
    if env.assignments or env.directory is not None:
        scope = scope.copy()
        scope.variables |= {name: (value,) for name, value in env.assignments}
        scope.cwd = join_path(scope.cwd, env.directory) if env.directory is not None else scope.cwd
    command = env.command
    if env.split_text is not None:
        if is_opaque(env.split_text):
            return
        command = [*split_words(env.split_text), *command]
        while command and "=" in command[0]:
            command = command[1:]
    if command:
        environment = {**start.environment, **dict(env.assignments)}
        walk.start(walk, Start(command, scope, start.feed, environment))
