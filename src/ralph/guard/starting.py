"""What a program does with its words: run another one, read a script, be judged by the families."""

from __future__ import annotations

import shlex

from ralph.guard.ansi_quotes import NO_CHARACTER
from ralph.guard.carriers import MAX_FIND_COMMANDS, read_find, read_parallel, read_xargs
from ralph.guard.examining import (
    DangerFound,
    Feed,
    Start,
    embedded_command,
    is_opaque,
    looks_like_commands,
    next_directory,
)
from ralph.guard.expansion import expand_words
from ralph.guard.families.secrets import check_sending, reads_secrets
from ralph.guard.interpreters import interpreter_named
from ralph.guard.judgement import Danger
from ralph.guard.marks import INPUT, UNKNOWN
from ralph.guard.options import base_name, behind_options, has_flag, split_options, words_in
from ralph.guard.paths import joined
from ralph.guard.places import MACHINE, Place, place_of
from ralph.guard.printed import printed_by
from ralph.guard.program_lists import SHELLS
from ralph.guard.reading import read_script
from ralph.guard.running_code import opaque, scripts_of
from ralph.guard.running_git import GitRunner, split_words
from ralph.guard.scope import Scope
from ralph.guard.syntax import Script, Simple
from ralph.guard.word_reading import TOO_MANY_PROGRAMS, TooComplex
from ralph.guard.wrappers import read_env, wrapped_command


class Examiner(GitRunner):
    def start(self, start: Start) -> None:
        self.count_call()
        words = start.words
        has_prefix = start.source is not None and bool(start.source.assignments)
        while words and (not words[0] or (words[0] == "!" and not has_prefix)):
            words = words[1:]
        if not words or self.is_allowed(words):
            return
        start = start._replace(words=words)
        name = words[0]
        if INPUT in name or NO_CHARACTER in name:
            raise DangerFound(opaque("the program that runs comes from stdin or cannot be read"))
        if name in start.scope.functions:
            self._function(start)
            return
        if any(character.isspace() for character in name.strip()) and not _is_path(name):
            if any((name,) == value for key, value in start.scope.variables.items() if key.isdigit()):
                return  # `bash -c '"$1"' _ 'two words'`: no program has that name
            self.is_torn = True  # a quote stands where none belongs: read it strictly
            self.text(" ".join(" ".join(words).split("\n")), start.scope)
            self.text(name, start.scope)
            return
        handler = _HANDLERS.get(base_name(name))
        if handler is not None:
            handler(self, start)
        elif base_name(name) in SHELLS:
            self.start_shell(start)
        elif (interpreter := interpreter_named(base_name(name))) is not None:
            self.start_interpreter(start, interpreter)
        elif (wrapped := wrapped_command(base_name(name), words[1:])) is not None:
            stays = base_name(name) in ("builtin", "command") or (
                base_name(name) == "time" and not has_prefix
            )
            self.start(start.with_words(wrapped) if stays else start.beyond_shell(wrapped))
        else:
            self._program(start)

    def _program(self, start: Start) -> None:
        """A program that runs nothing else, as far as we know."""
        written = start.scope.written(start.words[0])
        if written is not None:
            self.run_text(start, written, "file", start.words[1:])
        words, text = start.words, start.feed.text
        self.families(start)
        if is_opaque(words[0]) and has_flag(words[1:], "r") and has_flag(words[1:], "f"):
            self.families(start._replace(words=["rm", *words[1:]]))
        embedded = embedded_command(words)
        if embedded:
            self.start(start.with_words(embedded))
        if (
            text
            and looks_like_commands(base_name(words[0]), text)
            and start.source
            and start.source.redirects
        ):
            self.text(text, start.scope.copy())
        if start.source is not None:
            self._sent_substitutions(start.source, start)

    def _sent_substitutions(self, source: Simple, start: Start) -> None:
        from_words = [script for script in scripts_of(source) if _tells_secrets(script, start.scope)]
        if from_words:
            self.report(check_sending(base_name(start.words[0]), [*start.words[1:], "\ue000"]))

    def _function(self, start: Start) -> None:
        name = start.words[0]
        body = start.scope.functions[name]
        inner = start.scope.with_arguments(start.words[1:])
        # Within itself it is unknown: a second call is a loop without end, or a fork bomb.
        inner.functions[name] = _ENDLESS
        if body is _ENDLESS:
            raise DangerFound(
                Danger("system", f"the function {name} calls itself without end", "write a loop with an end")
            )
        self.enter()
        self.script(body, inner, start.feed)
        self.leave()
        start.scope.cwd = inner.cwd

    def _change_directory(self, start: Start) -> None:
        start.scope.cwd = next_directory(start.scope, start.words[1:])

    def _declare(self, start: Start) -> None:
        """``export X=1``, ``alias x='…'``, ``read x``."""
        program = base_name(start.words[0])
        for word in start.words[1:]:
            name, equals, value = word.partition("=")
            if program == "alias" and equals:
                start.scope.functions[name] = read_script(value).script
            elif equals:
                start.scope.variables[name] = (value,)
            elif program in ("read", "mapfile", "readarray", "getopts"):
                start.scope.variables[name] = (UNKNOWN,)
        if program == "export" and "-f" in start.words:
            start.scope.exports_functions = True

    def _env(self, start: Start) -> None:
        env = read_env(start.words[1:])
        scope = start.scope
        if env.assignments or env.directory is not None:
            scope = scope.copy()
            scope.variables |= {name: (value,) for name, value in env.assignments}
            scope.cwd = joined(scope.cwd, env.directory) if env.directory is not None else scope.cwd
        environment = {**start.environment, **dict(env.assignments)}
        command = env.command
        if env.split_text is not None:
            if is_opaque(env.split_text):
                return
            command = [*split_words(env.split_text), *command]
            while command and "=" in command[0]:
                command = command[1:]
        if command:
            self.start(Start(command, scope, start.feed, environment))

    def _string_runner(self, start: Start) -> None:
        """``su -c``, ``flock FILE -c``, ``script -c``: a text for a shell among the options."""
        words = start.words[1:]
        for number, word in enumerate(words):
            if word in ("-c", "--command") and number + 1 < len(words):
                self.text(words[number + 1], start.scope.copy())
                return
            if word.startswith("--command="):
                self.text(word.partition("=")[2], start.scope.copy())
                return
        if base_name(start.words[0]) == "flock":
            _, operands = split_options(words, ("-w", "-E", "--timeout"))
            self.start(start.with_words(operands[1:]))

    def _watch(self, start: Start) -> None:
        wrapped = wrapped_command("watch", start.words[1:]) or []
        if wrapped and not has_flag(start.words[1:2], "x", "exec"):
            self.text(" ".join(wrapped) if len(wrapped) == 1 else shlex.join(wrapped), start.scope.copy())
        else:
            self.start(start.with_words(wrapped))

    def _sudo(self, start: Start) -> None:
        words = start.words[1:]
        wrapped = wrapped_command(base_name(start.words[0]), words) or []
        own = words[: len(words) - len(wrapped)]
        for number, word in enumerate(own[:-1]):
            if word in ("-D", "--chdir"):
                start.scope.cwd = joined(start.scope.cwd, own[number + 1])
        for word in own:
            if word.startswith("--chdir="):
                start.scope.cwd = joined(start.scope.cwd, word.partition("=")[2])
        if not wrapped and own and has_flag(own, "s") and start.feed != Feed():
            self.run_text(start, start.feed.text, start.feed.origin, [])
        self.start(start.with_words(wrapped))

    def _xargs(self, start: Start) -> None:
        command = read_xargs(start.words[1:])
        if any(_is_code_with_input(command, number) for number in range(len(command))):
            raise DangerFound(
                Danger(
                    "hidden",
                    "words from stdin become part of a script",
                    "pass them as \"$1\": sh -c '…' _ {}",
                )
            )
        self.enter()
        self.start(Start(command, start.scope.copy(), environment=start.environment))
        self.leave()

    def _parallel(self, start: Start) -> None:
        parallel = read_parallel(start.words[1:])
        if parallel.reads_commands:
            raise DangerFound(opaque("parallel runs commands that come on stdin"))
        if parallel.is_dry:
            return
        self.enter()
        for command in parallel.commands:
            scope = start.scope.copy()
            scope.cwd = joined(scope.cwd, parallel.directory) if parallel.directory else scope.cwd
            self.start(Start(command, scope, environment=start.environment))
        self.leave()

    def _find(self, start: Start) -> None:
        find = read_find(start.words[1:])
        instead = "list the files with -print first, then rm those that are named"
        if find.may_gain_actions:
            raise DangerFound(opaque("words from stdin may become actions of find"))
        places = {place_of(root, start.scope.cwd, self.rules.cwd) for root in find.roots}
        is_computed = start.source is not None and bool(scripts_of(start.source))
        is_plain = not any(set(root) & set("*?[\ue000\ue001") or ".." in root for root in find.roots)
        is_temporary = places == {Place.TEMPORARY} and is_plain and not is_computed
        if find.deletes and not is_temporary:
            raise DangerFound(Danger("files", "find -delete removes everything that matches", instead))
        if len(find.commands) > MAX_FIND_COMMANDS:
            raise TooComplex(TOO_MANY_PROGRAMS)
        for command in find.commands:
            if not is_temporary and (_removes_trees(command) or (places & MACHINE and _removes(command))):
                raise DangerFound(Danger("files", "find runs rm on everything that matches", instead))
            if command and base_name(command[0]) in ("chmod", "chown", "chgrp"):
                # On every file below a root is as good as recursive.
                whole = [word.replace(f"/{UNKNOWN}", "") or "/" for word in command[1:]]
                self.families(start._replace(words=[command[0], "-R", *whole]))
            self.enter()
            self.start(Start(command, start.scope.copy(), environment=start.environment))
            self.leave()

    def _remote(self, start: Start) -> None:
        self.families(start)
        if not self.rules.has_pack("remote"):
            return
        words = behind_options(start.words[1:], _SSH_VALUED)
        if words[1:]:
            self.text(" ".join(words[1:]), start.scope.copy())

    def _windows_shell(self, start: Start) -> None:
        """``cmd /c …``."""
        for number, word in enumerate(start.words):
            if word.lower() in ("/c", "/k"):
                rest = start.words[number + 1 :]
                self.start(start.with_words(split_words(rest[0]) if len(rest) == 1 else rest))
                return

    def _editor(self, start: Start) -> None:
        """``vim -c '!command'``."""
        for word in start.words[1:]:
            command = word.lstrip("+:")
            if command.startswith("!"):
                self.text(command[1:], start.scope.copy())

    def _stdin_runner(self, start: Start) -> None:
        """``at`` and ``batch`` run what comes on stdin."""
        if start.feed.text is not None:
            self.text(start.feed.text, start.scope.copy())


_ENDLESS: Script = ((Simple((), (), ()),),)
_SSH_VALUED = tuple(words_in("-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w"))

_HANDLERS = {
    "eval": Examiner.start_eval,
    "source": Examiner.start_source,
    ".": Examiner.start_source,
    "trap": Examiner.start_trap,
    "env": Examiner._env,
    "xargs": Examiner._xargs,
    "gxargs": Examiner._xargs,
    "parallel": Examiner._parallel,
    "find": Examiner._find,
    "gfind": Examiner._find,
    "git": Examiner.start_git,
    "watch": Examiner._watch,
    "ssh": Examiner._remote,
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view"), Examiner._editor),
    "cmd": Examiner._windows_shell,
    "at": Examiner._stdin_runner,
    "batch": Examiner._stdin_runner,
    **dict.fromkeys(("sudo", "doas"), Examiner._sudo),
    **dict.fromkeys(("su", "runuser", "flock", "script", "sg"), Examiner._string_runner),
    **dict.fromkeys(("cd", "pushd", "chdir"), Examiner._change_directory),
    **dict.fromkeys(
        (
            "export",
            "declare",
            "typeset",
            "local",
            "readonly",
            "alias",
            "read",
            "mapfile",
            "readarray",
            "getopts",
        ),
        Examiner._declare,
    ),
}


def _is_code_with_input(words: list[str], number: int) -> bool:
    """``sh -c '… {} …'``: xargs puts the words in as they are, quotes and all."""
    return (
        number >= 2
        and INPUT in words[number]
        and words[number - 1] == "-c"
        and base_name(words[number - 2]) in SHELLS
    )


def _is_path(name: str) -> bool:
    r"""``C:\Program Files\Git\bin\git.exe``: a path with a space, not a command in quotes."""
    return name[:1] == "/" or (
        name[1:3] == ":\\" and not any(character.isspace() for character in base_name(name))
    )


def _removes(words: list[str]) -> bool:
    return any(base_name(word) in ("rm", "unlink", "shred") for word in words)


def _removes_trees(words: list[str]) -> bool:
    """rm -rf, behind whatever wrappers."""
    for number, word in enumerate(words):
        if base_name(word) == "rm":
            options, _ = split_options(words[number + 1 :])
            if any(UNKNOWN in option for option in options):
                return True
            recursive = has_flag(options, "r", "recursive", shortest=1) or has_flag(options, "R")
            return recursive and has_flag(options, "f", "force", shortest=1)
    return False


def _tells_secrets(script: Script, scope: Scope) -> bool:
    for pipeline in script:
        for command in pipeline:
            if isinstance(command, Simple) and reads_secrets(expand_words(command.words, scope, printed_by)):
                return True
    return False
