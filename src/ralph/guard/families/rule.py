"""A rule on the options and operands of one program: a row in the table of its family."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ralph.guard.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.options import has_flag


class Words(NamedTuple):
    call: Call
    arguments: list[str]
    options: list[str]
    operands: list[str]

    def has(self, short: str = "", long: str = "", *, shortest: int = 4) -> bool:
        return has_flag(self.options, short, long, shortest=shortest)

    @property
    def verb(self) -> str:
        """The first operand: ``drop`` of ``git stash drop``."""
        return self.operands[0] if self.operands else ""


class Rule(NamedTuple):
    applies: Callable[[Words], object]
    what: str
    """May name ``{program}`` and ``{verb}``."""
    instead: str


def find_danger(family: str, rules: Iterable[Rule], words: Words) -> Danger | None:
    for rule in rules:
        if rule.applies(words):
            what = rule.what.format(program=words.call.program, verb=words.verb)
            return Danger(family, what, rule.instead)
    return None
