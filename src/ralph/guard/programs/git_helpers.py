"""git as a program that runs others: aliases, pagers, ssh commands, ``bisect run``."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from ralph.guard.git_call import read_git
from ralph.guard.marks import INPUT, is_opaque
from ralph.guard.options import base_name, split_words, value_of_option, words_in
from ralph.guard.places import join_path
from ralph.guard.script_walk import walk_text
from ralph.guard.shell.scope import Scope
from ralph.guard.walk import Start, Walk, refuse_hidden

_PROGRAM_KEYS = words_in(
    "core.pager core.editor core.fsmonitor core.askpass diff.external credential.helper sequence.editor gpg.program"
)
_PROGRAM_VARIABLES = ("GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF")
_SETTING_VARIABLES = frozenset(["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"])
_NETWORK_SUBCOMMANDS = words_in("fetch pull push clone ls-remote remote submodule fetch-pack send-pack")


def start_git(walk: Walk, start: Start) -> None:
    words = read_git(start.words[1:])
    environment = start.environment
    if not _SETTING_VARIABLES.isdisjoint(environment) or any(
        map(_runs_programs, words.config_from_environment)
    ):
        refuse_hidden("git's settings come from variables")
    config = words.config
    for key, value in config.items():
        if key.startswith("alias.") and value.lstrip().startswith("!"):
            walk_text(walk, value.lstrip()[1:], start.scope.copy())
            refuse_hidden("this git alias is a shell command")
    named = [config.get(key) for key in _PROGRAM_KEYS] + [
        environment.get(name) for name in _PROGRAM_VARIABLES
    ]
    for program in named:
        if program and not is_opaque(program):
            walk_text(walk, program.lstrip("!"), start.scope.copy())
    if any(INPUT in key for key in config):
        refuse_hidden("words from stdin become git settings")
    is_listing = words.subcommand == "remote" and not {"update", "show", "prune"} & set(words.arguments)
    _check_connection("" if is_listing else words.subcommand, config, environment)
    alias = config.get(f"alias.{words.subcommand}")
    if alias is not None:
        inner = walk.deeper()
        inner.start(inner, start.with_words(["git", *split_words(alias), *words.arguments]))
        return
    _walk_inner_commands(walk, words.subcommand, words.arguments, start.scope)
    scope = start.scope
    if words.directory:
        scope = scope.copy()
        scope.cwd = join_path(scope.cwd, words.directory)
    walk.ask_families(start._replace(scope=scope))


def _runs_programs(key: str) -> bool:
    return key.startswith("alias.") or key.endswith(("command", "pager", "editor"))


def _check_connection(subcommand: str, config: dict[str, str], environment: Mapping[str, str]) -> None:
    if subcommand not in _NETWORK_SUBCOMMANDS:
        return
    variables = ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_PROXY_COMMAND")
    for command in (config.get("core.sshcommand"), *map(environment.get, variables)):
        if command and base_name(command.split()[0] if command.split() else "") != "ssh":
            refuse_hidden("git connects through a program named in this command")


def _walk_inner_commands(walk: Walk, subcommand: str, arguments: list[str], scope: Scope) -> None:
    """Commands that git itself runs: ``bisect run``, ``rebase --exec``, ``submodule foreach``, an alias being set."""
    if subcommand == "bisect" and arguments[:1] == ["run"]:
        walk.start(walk, Start(arguments[1:], scope.copy()))
    if subcommand == "submodule" and "foreach" in arguments:
        rest = [word for word in arguments[arguments.index("foreach") + 1 :] if not word.startswith("--")]
        walk_text(walk, " ".join(rest), scope.copy())
    if subcommand == "rebase" and (text := value_of_option(arguments, ("-x", "--exec"))):
        walk_text(walk, text, scope.copy())
    for name, value in pairwise(arguments) if subcommand == "config" else ():
        if name.startswith("alias."):
            walk_text(walk, value[1:] if value.startswith("!") else f"git {value}", scope.copy())
