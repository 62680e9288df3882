"""One program call as the families see it: wrappers removed, words expanded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ralph.guard.judgement import GuardRules
from ralph.guard.marks import INPUT
from ralph.guard.places import Place, place_of


class Call(NamedTuple):
    program: str
    arguments: list[str]
    cwd: str
    rules: GuardRules
    environment: Mapping[str, str]
    """Variables that the command line itself set for this call."""
    is_torn: bool = False
    """Something was left open in the text: what is read here may not be what runs."""
    input_text: str = ""
    """What comes on stdin, if known."""

    def place(self, path: str) -> Place:
        return place_of(path, self.cwd, self.rules.cwd)

    @property
    def has_input(self) -> bool:
        """xargs or parallel puts words into this call."""
        return any(INPUT in argument for argument in self.arguments)

    def may_gain_options(self) -> bool:
        """Words from stdin stand where options are still read."""
        before = self.arguments[: self.arguments.index("--")] if "--" in self.arguments else self.arguments
        return any(word.startswith(INPUT) or (word.startswith("-") and INPUT in word) for word in before)
