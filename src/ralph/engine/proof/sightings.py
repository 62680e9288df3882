"""What commands did with a canary in the files that runs began with: parts of one work do not try it twice."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ralph.domain.proof.canary import Sighting
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tree import Tree


class Sightings:
    """By the files and the command. Whoever tries one has the ``turn``: others with the same files wait for the result."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, RequiredCommand], Sighting | None] = {}
        self._why_not: dict[tuple[str, RequiredCommand], str] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def turn(self, tree: Tree) -> asyncio.Lock:
        return self._turns[tree.digest]

    def unknown(self, tree: Tree, required: Sequence[RequiredCommand]) -> list[RequiredCommand]:
        return [each for each in required if (tree.digest, each) not in self._found]

    def learn(self, tree: Tree, tried: Sequence[RequiredCommand], shown: Mapping[str, Sighting]) -> None:
        """``shown``: by label, those of the commands that showed it."""
        self._found.update({(tree.digest, each): shown.get(each.label) for each in tried})

    def explain(self, tree: Tree, why_not: Mapping[RequiredCommand, str]) -> None:
        """Why these commands do not show it."""
        self._why_not.update({(tree.digest, each): why for each, why in why_not.items()})

    def why_not(self, tree: Tree, required: RequiredCommand) -> str:
        return self._why_not.get((tree.digest, required), "")

    def shown(self, tree: Tree, required: Sequence[RequiredCommand]) -> dict[str, Sighting]:
        found = ((each.label, self._found.get((tree.digest, each))) for each in required)
        return {label: sighting for label, sighting in found if sighting is not None}
