"""Programs that run code: shells, eval, source, interpreters. The code is in their words, on stdin, or in a file."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.guard.code import read_code
from ralph.guard.examining import (
    DangerFound,
    Feed,
    Start,
    Walker,
    is_opaque,
    is_partly_opaque,
    looks_like_commands,
    only_substitution,
    prints_setup_code,
    process_files,
)
from ralph.guard.expansion import substituted_scripts
from ralph.guard.interpreters import Interpreter, read_interpreter
from ralph.guard.judgement import Danger
from ralph.guard.marks import INPUT
from ralph.guard.options import base_name, split_options
from ralph.guard.places import HARMLESS, Place, is_vital_file, place_of
from ralph.guard.printed import printed_by
from ralph.guard.shell_words import read_shell
from ralph.guard.syntax import Script, Simple

_READ_FIRST = "save it to a file, read it, then run the file by its name"


def opaque(what: str) -> Danger:
    return Danger("hidden", what, "write the command out so that it can be read")


def scripts_of(source: Simple) -> list[Script]:
    return [script for word in source.words for script in substituted_scripts(word)]


class CodeRunner(Walker):
    def run_text(
        self, start: Start, text: str | None, origin: str, arguments: Sequence[str], language: str = "shell"
    ) -> None:
        """Code that does not stand in the command: known, or from somewhere."""
        if text is not None and not is_opaque(text):
            if language == "shell":
                self.text(text, start.scope.with_arguments(arguments))
            else:
                self.examine_code(start, language, text)
            return
        if origin == "network":
            raise DangerFound(Danger("network", "this runs what another machine sends, unread", _READ_FIRST))
        if language == "shell" or origin == "decoder":
            raise DangerFound(opaque("this runs a script that cannot be read beforehand"))

    def start_shell(self, start: Start) -> None:
        if any(word.startswith("-") and INPUT in word for word in start.words[1:]):
            raise DangerFound(opaque("words from stdin become options of a shell"))
        shell = read_shell(start.words[1:])
        environment = start.environment
        name = base_name(start.words[0])
        startup = environment.get("ENV") if shell.is_interactive and name != "zsh" else None
        if name in ("bash", "sh", "rbash") and not shell.is_interactive:
            startup = environment.get("BASH_ENV")
        for path in (startup, shell.startup_file if shell.is_interactive else ""):
            if path:
                self.run_text(start, start.scope.written(path), "file", [])
        if shell.checks_only:
            return
        if shell.code is not None:
            self._shell_code(start, shell.code, shell.arguments)
        elif process_files(start.source):
            for script in process_files(start.source):
                if not (only_substitution(start.source) is not None and prints_setup_code(script)):
                    self.run_text(
                        start, printed_by(script, start.scope), self.origin_of(script, start.scope), []
                    )
        elif shell.script:
            if is_opaque(shell.script):
                raise DangerFound(opaque("this runs a script whose name is not known"))
            written = start.scope.written(shell.script)
            if written is not None:
                self.run_text(start, written, "file", shell.arguments)
        elif start.feed != Feed():
            self.run_text(start, start.feed.text, start.feed.origin, shell.arguments)

    def _shell_code(self, start: Start, code: str, arguments: Sequence[str]) -> None:
        if is_opaque(code):
            if INPUT in code:
                raise DangerFound(opaque("words from stdin become a script"))
            self.run_text(start, None, "network" if self.fetches(start) else "file", [])
        inner = start.scope.of_child(arguments[1:])
        command = code.strip()
        name = command[1:].strip("{}")
        if (
            command.startswith("$")
            and name.replace("_", "a").isalnum()
            and is_opaque(" ".join(inner.value_of(name)))
        ):
            raise DangerFound(opaque(f"this runs whatever {command} holds"))
        self.text(code, inner, start.feed)

    def fetches(self, start: Start) -> bool:
        return start.source is not None and any(
            self.origin_of(script, start.scope) == "network" for script in scripts_of(start.source)
        )

    def start_eval(self, start: Start) -> None:
        text = " ".join(start.words[1:])
        if not is_partly_opaque(text):
            self.text(text, start.scope)
            return
        script = only_substitution(start.source)
        if script is not None and prints_setup_code(script):
            return
        if start.words[1:3] == ["set", "--"]:
            return
        if self.fetches(start):
            self.run_text(start, None, "network", [])
        raise DangerFound(opaque("eval runs text that is not known beforehand"))

    def start_source(self, start: Start) -> None:
        scripts = process_files(start.source)
        for script in scripts:
            if not (only_substitution(start.source) is script and prints_setup_code(script)):
                self.run_text(start, printed_by(script, start.scope), self.origin_of(script, start.scope), [])
        if scripts:
            return
        _, operands = split_options(start.words[1:], ("-p",))
        if any(is_opaque(word) for word in (*operands[:1], *start.words[1:3])):
            raise DangerFound(opaque("this runs a script whose name is not known"))
        written = start.scope.written(operands[0]) if operands else None
        if written is not None:
            self.run_text(start, written, "file", [])

    def start_trap(self, start: Start) -> None:
        _, operands = split_options(start.words[1:])
        if len(operands) > 1 and operands[0] != "-":
            if is_partly_opaque(operands[0]):
                raise DangerFound(opaque("trap runs text that is not known beforehand"))
            self.text(operands[0], start.scope)

    def start_interpreter(self, start: Start, interpreter: Interpreter) -> None:
        source = read_interpreter(interpreter, start.words[1:])
        if source.may_gain_code:
            raise DangerFound(opaque(f"words from stdin become code of {base_name(start.words[0])}"))
        for code in source.codes:
            if is_opaque(code):
                self.run_text(
                    start, None, "network" if self.fetches(start) else "file", [], interpreter.language
                )
            self.examine_code(start, interpreter.language, code)
        if process_files(start.source) and not source.codes and interpreter.language != "awk":
            for script in process_files(start.source):
                self.run_text(
                    start,
                    printed_by(script, start.scope),
                    self.origin_of(script, start.scope),
                    [],
                    interpreter.language,
                )
        elif source.reads_stdin and start.feed != Feed() and interpreter.language != "awk":
            self.run_text(start, start.feed.text, start.feed.origin, [], interpreter.language)
        elif (written := start.scope.written(source.script)) is not None:
            self.run_text(start, written, "network", [], interpreter.language)
        self.families(start)

    def examine_code(self, start: Start, language: str, code: str) -> None:
        self.enter()
        found = read_code(language, code)
        scope = start.scope
        if found.gives_shell_away:
            raise DangerFound(
                Danger(
                    "network", "this code gives another machine a shell", "use a client that the user named"
                )
            )
        if found.runs_fetched:
            what = "this code runs what it gets from another machine"
            raise DangerFound(Danger("network", what, "save it to a file and read it before it is run"))
        if found.forks_endlessly:
            raise DangerFound(
                Danger("system", "this starts processes without end", "start as many as needed")
            )
        for script in found.scripts:
            if is_opaque(script) or INPUT in script:
                raise DangerFound(opaque("this code runs a command that is not known beforehand"))
            self.text(script, scope.copy())
        for words in found.calls:
            self.start(Start(words, scope.copy()))
        for tree in found.removed_trees:
            if tree is None or place_of(tree, scope.cwd, self.rules.cwd) is not Place.INSIDE:
                raise DangerFound(
                    Danger(
                        "files", "this code removes a whole folder", "remove named files inside the project"
                    )
                )
        for path in found.removed_files:
            if place_of(path, scope.cwd, self.rules.cwd) not in HARMLESS | {Place.OUTSIDE}:
                raise DangerFound(
                    Danger("files", f"this code removes {path}", "remove named files inside the project")
                )
        for path in found.written_files:
            if is_vital_file(path, scope.cwd):
                raise DangerFound(Danger("files", f"this code overwrites {path}", "write inside the project"))
        for nested in found.nested_code:
            self.examine_code(start, language, nested)
            self.text(nested, scope.copy())
        if looks_like_commands("", code) and language != "awk":
            self.text(code, scope.copy())
        self.leave()
