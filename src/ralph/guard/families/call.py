"""One program call as the families see it (wrappers removed, words expanded), and rules on its options and operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from ralph.guard.judgement import Danger, GuardRules
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import INPUT
from ralph.guard.options import has_flag
from ralph.guard.places import Place, place_of


class Call(NamedTuple):
    program: str
    arguments: list[str]
    cwd: str
    rules: GuardRules
    environment: Mapping[str, str]
    """Variables that the command line itself set for this call."""
    is_torn: bool = False
    """A quote or bracket was left open: what we read may not be what runs."""
    input_text: str = ""
    """What comes on stdin; unknown text if that is not known, nothing if nothing comes."""

    def place(self, path: str) -> Place:
        return place_of(path, self.cwd, self.rules.cwd)

    @property
    def has_input(self) -> bool:
        """xargs or parallel puts words into this call."""
        return any(INPUT in argument for argument in self.arguments)


class Words(NamedTuple):
    call: Call
    arguments: list[str]
    options: list[str]
    operands: list[str]

    def has(self, short: str = "", long: str = "") -> bool:
        return has_flag(self.options, short, long)

    @property
    def verb(self) -> str:
        """The first operand: ``drop`` of ``git stash drop``."""
        return self.operands[0] if self.operands else ""


class Rule(NamedTuple):
    """A row in a table."""

    family: str
    conditions: list[Condition]
    what: str
    """May name ``{program}`` and ``{verb}``."""
    instead: str


def find_danger(rules: Iterable[Rule], words: Words) -> Danger | None:
    for rule in rules:
        if all(condition(words) for condition in rule.conditions):
            what = rule.what.format(program=words.call.program, verb=words.verb)
            return Danger(rule.family, what, rule.instead)
    return None


Condition: TypeAlias = Callable[[Words], object]


def read_rules(
    table: str, conditions: Mapping[str, Condition], advice: Mapping[str, str]
) -> dict[str, list[Rule]]:
    """A table of lines ``family :: names :: what must be given :: the danger :: the advice``.

    Given, with ``&`` all of it: flags (``-f/--force``), a verb (``stop/disable``), a word anywhere (``has prod|live``), a
    word that matches (``like ^--del``), any operand (``named``), nothing (``always``), a pack that is on (``strict pack``), a
    condition by its name; or ``not`` that. Words are compared in lower case.
    """
    rules: dict[str, list[Rule]] = {}
    for line in table.strip().splitlines():
        family, names, given, what, instead = line.split(" :: ")
        needed = [_read_condition(part, conditions) for part in given.split(" & ")]
        rule = Rule(family, needed, what, advice[instead])
        for name in names.split():
            rules.setdefault(name, []).append(rule)
    return rules


def _read_condition(text: str, conditions: Mapping[str, Condition]) -> Condition:
    if text in conditions:
        return conditions[text]
    if text in ("always", "named"):
        return lambda words: text == "always" or words.operands
    kind, _, rest = text.partition(" ")
    if kind == "not":
        condition = _read_condition(rest, conditions)
        return lambda words: not condition(words)
    if kind == "has":
        wanted = frozenset(rest.split("|"))
        return lambda words: not wanted.isdisjoint(map(str.lower, words.arguments))
    if kind == "like":
        pattern = LazyPattern(rest)
        return lambda words: any(pattern.search(word.lower()) for word in words.arguments)
    if rest == "pack":
        return lambda words: words.call.rules.has_pack(kind)
    names = text.split("/")
    if not text.startswith("-"):
        return lambda words: words.verb in names
    short = next((name[1:] for name in names if name[:2] != "--"), "")
    long = next((name[2:] for name in names if name[:2] == "--"), "")
    return lambda words: words.has(short, long)
