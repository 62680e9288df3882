"""The layer that knows no lie at all: while a test is planted that must fail, the commands must fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from ralph.domain.loop.events import CheckEnded, CheckStarted
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.canary import RED, Sighting, missed, probed_by, unseen, why_not_probed
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tree import Tree
from ralph.engine.ports import Control, Judging, Publish
from ralph.engine.proof.canary_words import at_start
from ralph.engine.proof.layers import Layer
from ralph.engine.proof.planting import Planting
from ralph.engine.proof.proving import Proving
from ralph.engine.proof.sightings import Sightings
from ralph.values import dataclass, replace

MEMORY = "canary"


@dataclass(frozen=True, slots=True)
class Start:
    """Before the first session. ``is_cut``: it was ended before it was over.

    ``is_known``: an earlier process of the run has tried it, on what it began with.
    """

    control: Control
    publish: Publish
    is_cut: Callable[[], bool]
    is_known: bool = False
    iteration: int = 0


class Canary(Layer):
    """``begin`` finds out which commands show a canary at all. Those must show it when the work is claimed."""

    name = LayerName.CANARY

    def __init__(self, proving: Proving, planting: Planting, sightings: Sightings | None = None) -> None:
        """``sightings``: what is known already, if other runs begin with the same files."""
        super().__init__(proving)
        self._planting = planting
        self._sightings = sightings or Sightings()
        self._start: dict[str, Sighting] = {}
        self._proven: set[tuple[str, RequiredCommand]] = set()

    def requiring(self, required: Sequence[RequiredCommand]) -> Canary:
        """The same for some of the commands that it begins with."""
        other = Canary(self._proving.requiring(required), self._planting, self._sightings)
        other._start = self._start
        other._proven = self._proven
        return other

    async def begin(self, start: Start) -> None:
        """Try it on what the work begins with, once for a run. Raises GitFailed."""
        if (known := self._proving.store.recall(MEMORY, must=start.is_known)) is not None:
            self._start.update(_decoded(known))
            return
        start.publish(CheckStarted(LayerName.CANARY_AT_START))
        base, required = self._proving.store.base, self._proving.required
        async with self._sightings.turn(base):
            unknown = self._sightings.unknown(base, required)
            seconds = await self._probe_base(start, unknown) if unknown else 0.0
        if start.is_cut():
            start.publish(CheckEnded(at_start(Verdict.SKIPPED, seconds, CUT)))
            return
        self._start.update(self._sightings.shown(base, required))
        self._proving.store.remember(MEMORY, _encoded(self._start))
        verdict = Verdict.PASSED if self._start else Verdict.SKIPPED
        start.publish(CheckEnded(at_start(verdict, seconds, self._marks(explained=True))))

    async def _probe_base(self, start: Start, required: Sequence[RequiredCommand]) -> float:
        """Learns it, unless it is cut off; gives how long the commands took."""
        store = self._proving.store
        sighted, seconds = await self._planting.sight(store.base, start, required)
        failed = [each for each in required if (now := sighted.get(each.label)) and now.failed]
        # Whether a canary made it fail is known by its name in the output, or if it passes without.
        silent = [each for each in failed if not sighted[each.label].seen]
        failing: dict[str, str] = {}
        if silent:
            async with store.checkout(store.base) as checkout:
                async for trial in self._proving.trials(checkout, start, "start", silent):
                    seconds += trial.verdict.seconds
                    if not trial.verdict.passed:
                        failing[trial.required.label] = trial.verdict.reason
        if not start.is_cut():
            tried = [each for each in required if not sighted.get(each.label, NOTHING).error]
            passing = {each.label for each in silent} - failing.keys()
            self._sightings.learn(store.base, tried, probed_by(required, sighted, passing))
            why_not = {
                each: why_not_probed(sighted.get(each.label), failed_without=failing.get(each.label, ""))
                for each in required
            }
            self._sightings.explain(store.base, why_not)
        return seconds

    async def _prove(self, tree: Tree, judging: Judging) -> CheckResult:
        required = [each for each in self._proving.required if each.label in self._start]
        if not required:
            return CheckResult(self.name, Verdict.SKIPPED, required=False, reason=self._marks())
        required = [each for each in required if (tree.digest, each) not in self._proven]
        if not required:
            return CheckResult(self.name, Verdict.PASSED, reason=self._marks())
        sighted, seconds = await self._planting.sight(tree, judging, required)
        if not sighted and all(self._start[each.label] == RED for each in required):
            reason = "there are no tests of a kind that it knows"
            return CheckResult(self.name, Verdict.SKIPPED, required=False, reason=reason)
        for each in required:
            seconds += await self._look_again(each, sighted, tree, judging)
        errors = [f"`{command}`: {one.error}" for command, one in sighted.items() if one.error]
        if errors:
            reason = f"nobody knows whether the check can still fail: {'; '.join(errors)}"
            return CheckResult(
                self.name, Verdict.ERRORED, seconds=seconds, reason=reason, feedback=Feedback(reason)
            )
        wrong = [
            f"`{command}` {why}"
            for command in dict.fromkeys(each.label for each in required)
            if (why := unseen(self._start[command], sighted.get(command, NOTHING)))
        ]
        if not wrong:
            self._proven.update((tree.digest, each) for each in required)
            return CheckResult(self.name, Verdict.PASSED, seconds=seconds, reason=self._marks())
        reason = "; ".join(wrong)
        return CheckResult(
            self.name, Verdict.FAILED, seconds=seconds, reason=reason, feedback=Feedback(TOLD.format(reason))
        )

    async def _look_again(
        self, each: RequiredCommand, sighted: dict[str, Sighting], tree: Tree, judging: Judging
    ) -> float:
        """Plant those alone that a command did not name this time, until it names them or passes: it may only have
        stopped at another one."""
        seconds = 0.0
        while (now := sighted.get(each.label)) and (places := missed(self._start[each.label], now)):
            alone, more = await self._planting.sight(tree, judging, [each], only_at=places)
            seconds += more
            if not (found := alone[each.label]).failed or not found.seen:
                break
            sighted[each.label] = replace(now, seen=now.seen | found.seen)
        return seconds

    def _marks(self, *, explained: bool = False) -> str:
        """Which commands can be probed, and which cannot; ``explained``: and why, as far as it is known."""
        base = self._proving.store.base
        unknown = [
            f"{each.label} ({why})"
            if explained and (why := self._sightings.why_not(base, each))
            else each.label
            for each in self._proving.required
            if each.label not in self._start
        ]
        known = [each.label for each in self._proving.required if each.label in self._start]
        shown = f"notices a failing test: {', '.join(known)}" if known else ""
        cannot = f"not known to notice a failing test: {', '.join(unknown)}" if unknown else ""
        return "; ".join(filter(None, (shown, cannot)))


CUT = "cut off; it is tried again when the run is resumed"
NOTHING = Sighting(failed=False)
TOLD = (
    "A test that must fail was planted beside the others in a throw-away checkout of your work, and the check did not "
    "turn red: {}. A check that cannot fail proves nothing. Undo whatever keeps it from running, or from reporting, all tests."
)


def _encoded(sightings: Mapping[str, Sighting]) -> str:
    return json.dumps(
        {command: [one.failed, sorted(one.planted), sorted(one.seen)] for command, one in sightings.items()}
    )


def _decoded(text: str) -> dict[str, Sighting]:
    return {
        command: Sighting(failed, frozenset(planted), frozenset(seen))
        for command, (failed, planted, seen) in json.loads(text).items()
    }
