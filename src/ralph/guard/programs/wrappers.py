"""Programs that run another command: sudo, env, timeout … A new one is one row."""

from __future__ import annotations

import re

from ralph.guard.marks import is_opaque
from ralph.guard.options import (
    OwnWords,
    base_name,
    has_flag,
    is_assignment,
    read_own_words,
    split_words,
    value_of_option,
    words_after_options,
    words_in,
)
from ralph.guard.places import join_path
from ralph.guard.programs.shells import run_text
from ralph.guard.script_walk import walk_text
from ralph.guard.walk import NOTHING, Start, Walk, refuse

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
timeout gtimeout :: -s -k --signal --kill-after
chrt taskset chroot :: -T -P -D
"""
"""Wrappers, and those of their options that take the next word as value."""
_WITH_OPERAND = words_in("timeout gtimeout chrt taskset chroot")
"""They take a word of their own before the command: a duration, a directory."""
_RUNNERS = """
mise :: exec x
direnv rbenv pyenv asdf bundle aws-vault :: exec
poetry pipenv uv pdm hatch rye conda op doppler dotenvx :: run
nix :: run shell develop
flatpak-spawn :: --host
npm pnpm yarn bun :: exec dlx x
npx bunx pnpx ::
"""
"""Programs, and the subcommands before options and the command; the last two rows run packages."""


def _read_table(text: str) -> dict[str, frozenset[str]]:
    rows = [line.partition(" ::") for line in text.strip().splitlines()]
    return {program: words_in(words) for programs, _, words in rows for program in programs.split()}


_VALUED_OF, _VERBS_OF = _read_table(_TABLE), _read_table(_RUNNERS)


def wrapped_command(program: str, arguments: list[str]) -> list[str] | None:
    """The words of the command that ``program`` runs; None if it is not a wrapper."""
    if program in _VERBS_OF:
        if not arguments or arguments[0] not in _VERBS_OF[program]:
            return None
        if "--" in arguments:
            return arguments[arguments.index("--") + 1 :]
        command = words_after_options(arguments[2 if program == "direnv" else 1 :], ())
        is_python = program == "uv" and "".join(command[:1]).endswith(("-", ".py"))
        return ["python", *command] if is_python else command
    if program not in _VALUED_OF:
        return None
    if program == "command" and arguments[:1] and arguments[0] in ("-v", "-V"):
        return []
    return _own_words(program, arguments).command


def _own_words(program: str, arguments: list[str]) -> OwnWords:
    own = read_own_words(arguments, _VALUED_OF[program], takes_assignments=program in ("sudo", "doas"))
    return own._replace(command=own.command[program in _WITH_OPERAND :])


_PACKAGE_RUNNERS = words_in("npx bunx pnpx npm pnpm yarn bun")
_PACKAGE_VALUED = words_in("-p --package -w --workspace -c --call --filter -F --cwd")
_PACKAGES = words_in("prisma rimraf shx del-cli knex sequelize sequelize-cli typeorm mikro-orm supabase")
"""Programs that pnpm and yarn also start without a subcommand."""


def package_command(program: str, arguments: list[str]) -> list[str] | None:
    """The command of ``npx rimraf@5 dist``, ``pnpm dlx …``, ``yarn prisma …``; None if it is none of them."""
    if program not in _PACKAGE_RUNNERS:
        return None
    verbs = _VERBS_OF[program]
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


def start_wrapped(walk: Walk, start: Start, wrapped: list[str]) -> None:
    name = base_name(start.words[0])
    # As a word of the shell, `time` measures functions too; after an assignment it is a program.
    has_prefix = start.source is not None and bool(start.source.assignments)
    stays = name in ("builtin", "command") or (name == "time" and not has_prefix)
    walk.start(walk, start.with_words(wrapped) if stays else start.beyond_shell(wrapped))


def start_sudo(walk: Walk, start: Start) -> None:
    own = _own_words(base_name(start.words[0]), start.words[1:])
    for directory in own.values("-D", "--chdir"):
        start.scope.cwd = join_path(start.scope.cwd, directory)
    is_shell = has_flag([name for name, _ in own.options], "s")
    if is_shell and not own.command and start.feed != NOTHING:
        run_text(walk, start, start.feed.text, start.feed.origin)
    walk.start(walk, start.with_words(own.command))


_ENV_VALUED = words_in("-u --unset -C --chdir -P -a --argv0 -S --split-string")


def start_env(walk: Walk, start: Start) -> None:
    own = read_own_words(start.words[1:], _ENV_VALUED, last=("-S", "--split-string"), takes_assignments=True)
    scope, environment, command = start.scope.copy(), dict(start.environment), own.command
    for text in own.values("-S", "--split-string"):
        if is_opaque(text):
            return
        command = [*split_words(text), *command]
    settings = own.values("")
    while command and is_assignment(command[0]):
        settings.append(command.pop(0))
    for name, _, value in (setting.partition("=") for setting in settings):
        scope.variables[name] = (value,)
        environment[name] = value
    for directory in own.values("-C", "--chdir"):
        scope.cwd = join_path(scope.cwd, directory)
    if command:
        walk.start(walk, Start(command, scope, start.feed, environment))
