"""The canary: a test that must fail, planted beside the project's own. A check that does not turn red proves nothing.

It knows no lie at all: a patched runner, an emptied target, ``|| true`` and a configuration that leaves tests out have in
common that the canary is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain

from ralph.domain.proof.chosen_tests import chooses_tests
from ralph.domain.proof.planting.go import plant_go
from ralph.domain.proof.planting.ground import Ground, Planted, Planter, Words
from ralph.domain.proof.planting.java import plant_java
from ralph.domain.proof.planting.javascript import plant_javascript
from ralph.domain.proof.planting.python import plant_python
from ralph.domain.proof.planting.rust import plant_rust
from ralph.domain.proof.protection import FOREIGN
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tests_ran import names_runner
from ralph.values import dataclass, field, replace

PLANTERS: tuple[Planter, ...] = (plant_python, plant_javascript, plant_go, plant_rust, plant_java)
"""One for each family of test runners."""
_NOT_OURS = FOREIGN | {"vendor", "third_party", "bower_components"}
MOST_PLACES = 300
"""Failing tests are slow to report, and a project may have thousands of test files."""
NAMED = 5


@dataclass(frozen=True, slots=True)
class Canary:
    """``files`` are written as they are, existing ones included; ``tokens`` says what a report of each place names."""

    runner: str
    files: Mapping[str, str]
    tokens: Mapping[str, str]
    places: Mapping[str, str] = field(default_factory=dict)  # of each file

    def only_at(self, places: Collection[str]) -> Canary:
        """The same, but planted in fewer places."""
        return replace(
            self,
            files={path: text for path, text in self.files.items() if self.places.get(path) in places},
            tokens={place: token for place, token in self.tokens.items() if place in places},
        )


def plan_canaries(paths: Iterable[str], read: Callable[[str], str | None], nonce: str) -> tuple[Canary, ...]:
    """One for each runner that the files of a tree have tests for. ``nonce`` must be a fresh secret every time."""
    own = frozenset(path for path in paths if _NOT_OURS.isdisjoint(path.split("/")))
    ground = Ground(own, read, Words(nonce))
    by_runner: dict[str, list[Planted]] = {}
    for planted in chain.from_iterable(plant(ground) for plant in PLANTERS):
        by_runner.setdefault(planted.runner, []).append(planted)
    return tuple(_canary(runner, found) for runner, found in by_runner.items())


def _canary(runner: str, found: Sequence[Planted]) -> Canary:
    new_first = sorted(found, key=lambda one: one.place == one.path)[:MOST_PLACES]
    return Canary(
        runner,
        files={one.path: one.content for one in new_first},
        tokens={one.place: one.token for one in new_first},
        places={one.path: one.place for one in new_first},
    )


# --- whether it was seen ---


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a command did while canaries were planted: whether it failed, and which of them its output names.

    ``error``: it could not be run, or was cut off, which is no failure either.
    """

    failed: bool
    planted: frozenset[str] = field(default_factory=frozenset)
    seen: frozenset[str] = field(default_factory=frozenset)
    error: str = ""


def sight(canaries: Iterable[Canary], *, failed: bool, output: str) -> Sighting:
    """``output`` is all that the command printed."""
    tokens = {place: token for canary in canaries for place, token in canary.tokens.items()}
    lowered = output.casefold()  # a class or a test may be named with a capital
    return Sighting(
        failed, frozenset(tokens), frozenset(place for place, token in tokens.items() if token in lowered)
    )


def shows(sighting: Sighting, *, passed_without: bool) -> bool:
    """Whether a command can be probed by canaries: it failed, and it was they who made it fail.

    Where the work is red anyway, only a report that names one can tell.
    """
    return sighting.failed and (passed_without or bool(sighting.seen))


RED = Sighting(failed=True)
"""What is known of a test runner that could not show a canary yet: it must when the work is done."""


def probed_by(
    required: Sequence[RequiredCommand], sighted: Mapping[str, Sighting], passing: Collection[str]
) -> dict[str, Sighting]:
    """Which commands must show a canary at the claim, by their labels, and what each did with one at the start.

    ``sighted``: empty if nothing could be planted yet. ``passing``: those that pass without one. A test runner that fails
    anyway must show one when the work is done, unless its command chooses tests: what is planted may never be chosen.
    """
    found = {
        label: sighting
        for label, sighting in sighted.items()
        if shows(sighting, passed_without=label in passing)
    }
    for each in required:
        can_show = names_runner(each.command) and not chooses_tests(each.command)
        if can_show and sighted.get(each.label, RED).failed:
            found.setdefault(each.label, RED)
    return found


def why_not_probed(sighting: Sighting | None, *, failed_without: str) -> str:
    """Why a command did not show a canary; None: none could be planted."""
    if sighting is None:
        return "no tests of a kind that ralph knows"
    if sighting.error:
        return sighting.error
    return (
        f"it fails without a planted test too: {failed_without}"
        if sighting.failed
        else "it passes with a failing test planted"
    )


def missed(start: Sighting, now: Sighting) -> frozenset[str]:
    """Places that a command named at the start, and that are planted but not named now: some tests may be left out.

    One that stops at its first failure may only have met another one first: it must fail with these alone.
    """
    return (start.seen & now.planted) - now.seen


def unseen(start: Sighting, now: Sighting) -> str:
    """Why a command that showed canaries at the start no longer proves anything; empty if it shows them still."""
    if not now.failed:
        return "passes although tests were planted that must fail: it can no longer fail"
    missing = sorted(missed(start, now))
    if not missing:
        return ""
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"no longer runs tests that it ran at the start: {', '.join(missing[:NAMED])}{more}"
