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


def _row(valued: str = "", operands: int = 0, *, takes_assignments: bool = False) -> Wrapper:
    return Wrapper(frozenset(valued.split()), operands, takes_assignments)


WRAPPERS: dict[str, Wrapper] = {
    "sudo": _row(
        "-u -g -p -C -c -h -D -R -r -t -T -U --user --group --prompt --chdir --chroot --host --role --type"
        " --close-from --command-timeout --other-user",
        takes_assignments=True,
    ),
    "doas": _row("-u -C -a", takes_assignments=True),
    "pkexec": _row("--user"),
    "run0": _row("-u -g -D --user --group --chdir --setenv"),
    "nice": _row("-n --adjustment"),
    "nohup": _row(),
    "timeout": _row("-s -k --signal --kill-after", 1),
    "gtimeout": _row("-s -k --signal --kill-after", 1),
    "time": _row("-f -o --format --output"),
    "gtime": _row("-f -o --format --output"),
    "command": _row(),
    "builtin": _row(),
    "exec": _row("-a"),
    "stdbuf": _row("-i -o -e --input --output --error"),
    "setsid": _row(),
    "ionice": _row("-c -n -p -P -u --class --classdata"),
    "chrt": _row("-T -P -D", 1),
    "taskset": _row("", 1),
    "cpulimit": _row("-l -p -e --limit"),
    "unshare": _row("-S -G -R -w --root --wd"),
    "nsenter": _row("-t -S -G --target"),
    "chroot": _row("", 1),
    "fakeroot": _row("-l -s -i -b"),
    "watch": _row("-n --interval -q --equexit"),
    "caffeinate": _row("-t -w"),
    "strace": _row("-o -e -p -s -u -E -P -a -b -O -S -X"),
    "ltrace": _row("-o -e -p -s -u"),
    "arch": _row("-e -d -arch --arch"),
    "xvfb-run": _row("-e -f -n -s -w -p --error-file --auth-file --server-num --server-args"),
    "dbus-run-session": _row("--config-file --dbus-daemon"),
    "systemd-run": _row("-p -u -t -M --unit --property --slice --working-directory --uid --gid -E"),
    "systemd-inhibit": _row("--what --who --why --mode"),
    "busybox": _row(),
    "toybox": _row(),
    "noglob": _row(),
    "nocorrect": _row(),
    "unbuffer": _row(),
    "proxychains": _row("-f"),
    "proxychains4": _row("-f"),
    "torsocks": _row(),
    "rtk": _row(),
    "shx": _row(),
    "entr": _row(),
}

_RUNNERS = {
    "mise": ("exec", "x"),
    "direnv": ("exec",),
    "rbenv": ("exec",),
    "pyenv": ("exec",),
    "asdf": ("exec",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "uv": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "bundle": ("exec",),
    "nix": ("run", "shell", "develop"),
    "conda": ("run",),
    "op": ("run",),
    "doppler": ("run",),
    "aws-vault": ("exec",),
    "dotenvx": ("run",),
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
    if any(re.match(r"(?:git\+)?https?://", word) for word in (command[0], *words[:3])):
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
