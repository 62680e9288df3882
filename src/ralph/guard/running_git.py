"""git as a program that runs others: aliases, pagers, ssh commands, ``bisect run``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from ralph.guard.examining import DangerFound, Start, is_opaque
from ralph.guard.git_words import read_git, settings_from_environment
from ralph.guard.marks import INPUT
from ralph.guard.options import base_name
from ralph.guard.paths import joined
from ralph.guard.running_code import CodeRunner, opaque
from ralph.guard.scope import Scope

_GIT_PROGRAM_KEYS = frozenset(
    [
        "core.pager",
        "core.editor",
        "core.fsmonitor",
        "core.askpass",
        "diff.external",
        "credential.helper",
        "sequence.editor",
        "gpg.program",
    ]
)
_GIT_NETWORK = frozenset(
    ["fetch", "pull", "push", "clone", "ls-remote", "remote", "submodule", "fetch-pack", "send-pack"]
)


def split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


class GitRunner(CodeRunner):
    def start_git(self, start: Start) -> None:
        words = read_git(start.words[1:])
        environment = start.environment
        settings = settings_from_environment(environment)
        if settings is None or environment.get("GIT_CONFIG_PARAMETERS"):
            raise DangerFound(opaque("git's settings come from variables that cannot be read"))
        if any(
            key.startswith("alias.") or key.endswith(("command", "pager", "editor"))
            for key in words.config_from_environment
        ):
            raise DangerFound(opaque("a git alias comes from a variable that cannot be read"))
        config = settings | words.config
        for key, value in config.items():
            if key.startswith("alias.") and value.lstrip().startswith("!"):
                self.text(value.lstrip()[1:], start.scope.copy())
                raise DangerFound(opaque("this git alias is a shell command"))
            if key == "core.sshcommand" and key in settings and words.subcommand in _GIT_NETWORK:
                raise DangerFound(opaque("git's ssh command is set through variables"))
            if key in _GIT_PROGRAM_KEYS and not is_opaque(value):
                self.text(value.lstrip("!"), start.scope.copy())
        if any(INPUT in key for key in (*config, *words.config_from_environment)):
            raise DangerFound(opaque("words from stdin become settings of git"))
        is_listing = words.subcommand == "remote" and not {"update", "show", "prune"} & set(words.arguments)
        self._git_connection("" if is_listing else words.subcommand, config, environment)
        alias = config.get(f"alias.{words.subcommand}")
        if alias is not None:
            self.enter()
            self.start(start.with_words(["git", *split_words(alias), *words.arguments]))
            self.leave()
            return
        for variable in ("GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF"):
            if environment.get(variable):
                self.text(environment[variable], start.scope.copy())
        self._git_inner(words.subcommand, words.arguments, start.scope)
        scope = start.scope
        if words.directory:
            scope = scope.copy()
            scope.cwd = joined(scope.cwd, words.directory)
        self.families(start._replace(scope=scope))

    def _git_connection(
        self, subcommand: str, config: dict[str, str], environment: Mapping[str, str]
    ) -> None:
        commands = [
            config.get("core.sshcommand"),
            environment.get("GIT_SSH_COMMAND"),
            environment.get("GIT_SSH"),
        ]
        commands.append(environment.get("GIT_PROXY_COMMAND"))
        for command in commands:
            if (
                command
                and base_name(command.split()[0] if command.split() else "") != "ssh"
                and subcommand in _GIT_NETWORK
            ):
                raise DangerFound(opaque("git connects through a program of the command line's own"))

    def _git_inner(self, subcommand: str, arguments: list[str], scope: Scope) -> None:
        """Commands that git itself runs: ``bisect run``, ``rebase --exec``, ``submodule foreach``, an alias being set."""
        if subcommand == "bisect" and arguments[:1] == ["run"]:
            self.start(Start(arguments[1:], scope.copy()))
        if subcommand == "submodule" and "foreach" in arguments:
            rest = [word for word in arguments[arguments.index("foreach") + 1 :] if not word.startswith("--")]
            self.text(" ".join(rest), scope.copy())
        for number, word in enumerate(arguments):
            following = arguments[number + 1] if number + 1 < len(arguments) else ""
            if subcommand == "rebase" and word in ("-x", "--exec"):
                self.text(following, scope.copy())
            elif subcommand == "rebase" and word.startswith("--exec="):
                self.text(word.partition("=")[2], scope.copy())
            elif subcommand == "config" and word.startswith("alias."):
                self.text(following[1:] if following.startswith("!") else f"git {following}", scope.copy())
