"""Walks a command line and asks the families about every program it would start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from ralph.guard.call import Call
from ralph.guard.expansion import expand_text, expand_words, substituted_scripts
from ralph.guard.families.catalogue import check_families
from ralph.guard.families.files import check_written_file
from ralph.guard.families.secrets import FETCHERS, check_sending, reads_secrets, saved_file
from ralph.guard.judgement import Danger, GuardRules
from ralph.guard.marks import INPUT, UNKNOWN
from ralph.guard.options import base_name
from ralph.guard.paths import joined
from ralph.guard.places import is_secret_file, is_startup_file
from ralph.guard.printed import printed_by, printed_by_command, stdin_text, text_of_call
from ralph.guard.program_lists import DANGEROUS_PROGRAMS, SETUP_TOOLS, SETUP_WORDS, SHELLS, TEXT_TOOLS
from ralph.guard.reading import read_script
from ralph.guard.scope import Scope
from ralph.guard.syntax import (
    Command,
    Function,
    Group,
    Pipeline,
    ProcessFile,
    Script,
    Simple,
    Substitution,
    Text,
    Word,
)
from ralph.guard.word_reading import TOO_DEEP, TOO_LONG, TOO_MANY_PROGRAMS, TooComplex

MAX_CALLS = 1_000
MAX_TEXT_CHARS = 200_000
MAX_DEPTH = 12


class DangerFound(Exception):
    """Ends the walk: one danger is enough."""

    def __init__(self, danger: Danger) -> None:
        self.danger = danger


class Feed(NamedTuple):
    """What comes on stdin."""

    text: str | None = None
    origin: str = ""
    """Where unknown text comes from: ``network``, ``decoder``, ``file``; empty if there is none."""


NOTHING = Feed()


class Start(NamedTuple):
    """One program that is about to start."""

    words: list[str]
    scope: Scope
    feed: Feed = NOTHING
    environment: Mapping[str, str] = MappingProxyType({})
    source: Simple | None = None
    """As it was written, for the rules that need to know."""

    def with_words(self, words: list[str]) -> Start:
        return self._replace(words=words, source=None)

    def beyond_shell(self, words: list[str]) -> Start:
        """Another program starts it: the shell's functions do not count there."""
        scope = self.scope.copy()
        scope.functions = {}
        return self._replace(words=words, source=None, scope=scope)


class Walker:
    """Scripts, pipelines and words; what a program does with its own words is in ``starting.Examiner``."""

    def __init__(self, rules: GuardRules, *, is_torn: bool) -> None:
        self.rules = rules
        self.is_torn = is_torn
        self._calls = 0
        self._depth = 0

    def start(self, start: Start) -> None:
        raise NotImplementedError

    def text(self, text: str, scope: Scope, feed: Feed = NOTHING) -> None:
        """Text that a shell will read."""
        if len(text) > MAX_TEXT_CHARS:
            raise TooComplex(TOO_LONG)
        self.enter()
        self.script(read_script(text, self._depth).script, scope, feed)
        self.leave()

    def enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooComplex(TOO_DEEP)

    def leave(self) -> None:
        self._depth -= 1

    def count_call(self) -> None:
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise TooComplex(TOO_MANY_PROGRAMS)

    def script(self, script: Script, scope: Scope, feed: Feed = NOTHING) -> None:
        for pipeline in script:
            self._pipeline(pipeline, scope, feed)

    def _pipeline(self, pipeline: Pipeline, scope: Scope, feed: Feed) -> None:
        secret = False
        for number, command in enumerate(pipeline):
            if isinstance(command, Function):
                scope.functions[command.name] = command.body
            elif isinstance(command, Group):
                self._group(command, scope, feed)
            else:
                words = self._simple(command, scope, feed)
                if secret and words:
                    self.report(check_sending(base_name(words[0]), words[1:]))
                secret = secret or reads_secrets(words)
            if number + 1 < len(pipeline):
                feed = self._feed_behind(command, scope, feed)

    def _group(self, group: Group, scope: Scope, feed: Feed) -> None:
        self.enter()
        self.script(group.body, scope.copy() if group.is_subshell else scope, feed)
        self.leave()
        self._redirects(group, scope)

    def _feed_behind(self, command: Command, scope: Scope, feed: Feed) -> Feed:
        """What a stage of a pipeline gives to the next."""
        text = printed_by_command(command, scope, feed.text)
        if text is not None and UNKNOWN not in text:
            return Feed(text)
        origin = self.origin_of(((command,),), scope)
        return Feed(None, origin if origin != "file" or not feed.origin else feed.origin)

    def origin_of(self, script: Script, scope: Scope) -> str:
        """Where the output of a script comes from."""
        for pipeline in script:
            for command in pipeline:
                if not isinstance(command, Simple) or not command.words:
                    continue
                words = expand_words(command.words, scope, printed_by)
                names = {base_name(word) for word in words[:3]}
                if names & FETCHERS:
                    return "network"
                if names & {"base64", "xxd", "openssl", "gunzip", "zcat", "uudecode"}:
                    return "decoder"
        return "file"

    def _redirects(self, command: Simple | Group, scope: Scope) -> None:
        for redirect in command.redirects:
            for script in substituted_scripts(redirect.target):
                self.script(script, scope.copy())
            if ">" in redirect.operator:
                path = expand_text(redirect.target, scope, printed_by)
                self.report(check_written_file(path, scope.cwd, appends=">>" in redirect.operator))
            elif redirect.operator == "<" and isinstance(command, Simple):
                words = expand_words(command.words, scope, printed_by)
                if words and is_secret_file(expand_text(redirect.target, scope, printed_by)):
                    self.report(check_sending(base_name(words[0]), words[1:]))

    def _simple(self, command: Simple, scope: Scope, feed: Feed) -> list[str]:
        for assignment in command.assignments:
            for value in assignment.values:
                self._substitutions(value, scope)
        for word in command.words:
            self._substitutions(word, scope)
        self._redirects(command, scope)
        values = {
            assignment.name: tuple(
                text
                for value in assignment.values
                for text in self._assigned(value, scope, len(assignment.values))
            )
            for assignment in command.assignments
        }
        if not command.words:
            for assignment in command.assignments:
                before = scope.variables.get(assignment.name, ("",)) if assignment.appends else ("",)
                scope.variables[assignment.name] = tuple(
                    old + new for old in before[:1] for new in values[assignment.name]
                )
            return []
        words = expand_words(command.words, scope, printed_by)
        feed = self._own_feed(command, scope, feed)
        environment = {name: " ".join(value) for name, value in scope.variables.items()}
        environment |= {name: " ".join(value) for name, value in values.items()}
        self.start(Start(words, scope, feed, environment, command))
        self._remember_files(command, words, scope, feed)
        return words

    def _assigned(self, value: Word, scope: Scope, count: int) -> list[str]:
        if count > 1:
            return expand_words((value,), scope, printed_by)
        return [expand_text(value, scope, printed_by)]

    def _substitutions(self, word: Word, scope: Scope) -> None:
        for script in substituted_scripts(word):
            self.enter()
            self.script(script, scope.copy())
            self.leave()

    def _own_feed(self, command: Simple, scope: Scope, feed: Feed) -> Feed:
        text = stdin_text(command.redirects, scope)
        if text is not None:
            return Feed(None, "file") if text.strip() == UNKNOWN else Feed(text)
        for redirect in command.redirects:
            if redirect.operator == "<":
                scripts = substituted_scripts(redirect.target)
                return Feed(None, self.origin_of(scripts[0], scope) if scripts else "file")
        return feed

    def _remember_files(self, command: Simple, words: list[str], scope: Scope, feed: Feed) -> None:
        """``cat > x.sh <<EOF`` … ``bash x.sh``: the text that was written is what will run."""
        paths = [
            (expand_text(redirect.target, scope, printed_by), redirect.operator)
            for redirect in command.redirects
            if redirect.operator in (">", ">>", ">|") and redirect.fd in ("", "1")
        ]
        program = base_name(words[0]) if words else ""
        if program == "tee":
            paths += [(word, ">") for word in words[1:] if not word.startswith("-")]
        text = text_of_call(words, scope, feed.text) if paths and words else None
        if program in FETCHERS:
            text = UNKNOWN
            saved = saved_file(program, words[1:])
            paths += [(saved, ">")] if saved else []
        for path, operator in paths:
            key = joined(scope.cwd, path)
            if text is None:
                scope.files.pop(key, None)
            else:
                scope.files[key] = (scope.files.get(key, "") if operator == ">>" else "") + text
                if is_startup_file(key):
                    self._later(text, scope)
        if program in ("cp", "mv", "ln", "install", "rsync"):
            for word in words[1:]:
                scope.files.pop(joined(scope.cwd, word), None)

    def _later(self, text: str, scope: Scope) -> None:
        """A shell will read it one day. What is only hard to read is the user's usual set-up."""
        try:
            self.text(text, scope.copy())
        except DangerFound as found:
            if found.danger.family != "hidden":
                raise

    def report(self, danger: Danger | None) -> None:
        if danger is not None:
            raise DangerFound(danger)

    def is_allowed(self, words: list[str]) -> bool:
        """By a pattern of the user's, for one simple command."""
        if not self.rules.allow:
            return False
        command = " ".join(words)
        return any(command == pattern or fnmatchcase(command, pattern) for pattern in self.rules.allow)

    def families(self, start: Start) -> None:
        words = start.words
        call = Call(
            base_name(words[0]),
            words[1:],
            start.scope.cwd,
            self.rules,
            start.environment,
            self.is_torn,
            start.feed.text or "",
        )
        self.report(check_families(call))


def is_opaque(word: str) -> bool:
    """Only the running shell knows any of it."""
    return bool(word) and not word.strip(UNKNOWN + INPUT + " \n;")


def is_partly_opaque(word: str) -> bool:
    return UNKNOWN in word or INPUT in word


def prints_setup_code(script: Script) -> bool:
    """One call of a tool that is made to print shell code, with nothing around it."""
    if len(script) != 1 or len(script[0]) != 1:
        return False
    command = script[0][0]
    if not isinstance(command, Simple) or command.redirects or command.assignments or not command.words:
        return False
    if not all(isinstance(part, Text) for word in command.words for part in word):
        return False
    words = ["".join(part.text for part in word if isinstance(part, Text)) for word in command.words]
    name = base_name(words[0])
    if name in SHELLS or name in FETCHERS or name in ("command", "env", "sudo", "cat", "echo", "printf"):
        return False
    return name in SETUP_TOOLS or bool(SETUP_WORDS & set(words[1:]))


def only_substitution(source: Simple | None) -> Script | None:
    """The script of ``program "$(…)"`` or ``program <(…)`` when nothing else is given."""
    if source is None or len(source.words) != 2 or source.redirects or source.assignments:
        return None
    parts = [part for part in source.words[1] if part != Text("", True)]
    if len(parts) == 1 and isinstance(parts[0], Substitution | ProcessFile):
        return parts[0].script
    return None


def process_files(source: Simple | None) -> list[Script]:
    if source is None:
        return []
    return [part.script for word in source.words for part in word if isinstance(part, ProcessFile)]


def embedded_command(words: list[str]) -> list[str]:
    """A dangerous program among the words of one that we do not know: ``tool exec -- rm -rf /``."""
    if base_name(words[0]) in TEXT_TOOLS or base_name(words[0]) in DANGEROUS_PROGRAMS:
        return []
    for number, word in enumerate(words[1:], start=1):
        if base_name(word) in DANGEROUS_PROGRAMS and not word.endswith("/"):
            return words[number:]
    return []


def looks_like_commands(program: str, text: str) -> bool:
    """A here-document for a program that we do not know: is it a script?"""
    return (
        program not in TEXT_TOOLS
        and re.search(r"(?m)^[ \t]*(?:sudo[ \t]+)?(?:rm|git|dd|mkfs\S*|find|shred)\s", text) is not None
    )


def next_directory(scope: Scope, words: list[str]) -> str:
    """Where ``cd`` goes."""
    operands = [word for word in words if not word.startswith("-") or word == "-"]
    if not operands:
        return "~"
    if operands[0] == "-":
        return UNKNOWN
    return joined(scope.cwd, operands[0]) if operands[0] else scope.cwd
