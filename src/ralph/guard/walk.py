"""One walk through a command line: what it carries from program to program, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from ralph.guard.families.call import Call
from ralph.guard.families.catalogue import check_families
from ralph.guard.judgement import Danger, GuardRules
from ralph.guard.limits import MAX_CALLS, MAX_DEPTH, TOO_DEEP, TOO_MANY_PROGRAMS, TooComplex
from ralph.guard.marks import UNKNOWN
from ralph.guard.options import base_name
from ralph.guard.places import Place, place_of
from ralph.guard.shell.scope import Scope
from ralph.guard.shell.syntax import Simple


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


class Tally:
    """What has been seen on the way."""

    __slots__ = ("calls", "emptied", "is_torn", "later")

    def __init__(self, *, is_torn: bool) -> None:
        self.calls = 0
        self.is_torn = is_torn
        """A quote or bracket was left open: what we read may not be what runs."""
        self.later: list[tuple[Walk, str, Scope]] = []
        """Texts that run when the shell ends."""
        self.emptied: dict[str, Danger] = {}
        """Files that are left empty, unless something is written to them later."""


class Walk(NamedTuple):
    rules: GuardRules
    tally: Tally
    start: Callable[[Walk, Start], None]
    """Follows a program that starts: ``programs.handlers.start_program``, which the handlers cannot import."""
    depth: int = 0

    def deeper(self) -> Walk:
        """Within what one program runs."""
        if self.depth >= MAX_DEPTH:
            raise TooComplex(TOO_DEEP)
        return Walk(self.rules, self.tally, self.start, self.depth + 1)

    def count_call(self) -> None:
        self.tally.calls += 1
        if self.tally.calls > MAX_CALLS:
            raise TooComplex(TOO_MANY_PROGRAMS)

    def allows(self, words: list[str]) -> bool:
        """Whether the user has allowed it, by a pattern for one simple command."""
        if not self.rules.allow:
            return False
        command = " ".join(words)
        return any(command == pattern or fnmatchcase(command, pattern) for pattern in self.rules.allow)

    def place_of(self, path: str, scope: Scope) -> Place:
        return place_of(path, scope.cwd, self.rules.cwd)

    def ask_families(self, start: Start) -> None:
        """Ends the walk if one of them knows the program's words as a danger."""
        words = start.words
        call = Call(
            base_name(words[0]),
            words[1:],
            start.scope.cwd,
            self.rules,
            start.environment,
            self.tally.is_torn,
            start.feed.text or (UNKNOWN if start.feed.origin else ""),
        )
        refuse_if(check_families(call))


def refuse(family: str, what: str, instead: str) -> NoReturn:
    raise DangerFound(Danger(family, what, instead))


def refuse_hidden(what: str) -> NoReturn:
    """What runs cannot be read in advance."""
    refuse("hidden", what, "write the command out in full, where it can be read")


def refuse_if(danger: Danger | None) -> None:
    if danger is not None:
        raise DangerFound(danger)
