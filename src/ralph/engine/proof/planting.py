"""Planting tests that must fail in throw-away checkouts, and seeing what commands make of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from ralph.domain.proof.canary import Sighting, plan_canaries, sight
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tree import Tree
from ralph.engine.proof.ports import Checkout, Files
from ralph.engine.proof.proving import Occasion, Proving


class Planting:
    """``nonce`` is a fresh secret every time: no work can know what is planted."""

    def __init__(self, proving: Proving, files: Files, *, nonce: Callable[[], str]) -> None:
        self._proving = proving
        self._files = files
        self._nonce = nonce

    async def sight(
        self,
        tree: Tree,
        occasion: Occasion,
        required: Sequence[RequiredCommand],
        *,
        only_at: Collection[str] | None = None,
        slug: str = "canary",
    ) -> tuple[dict[str, Sighting], float]:
        """What each command does with canaries planted in these files, or in some places only, and how long that took."""
        found: dict[str, Sighting] = {}
        seconds = 0.0
        async with self._proving.store.checkout(tree) as checkout:
            canaries = plan_canaries(tree.files, partial(self._read, checkout), self._nonce())
            if only_at is not None:
                canaries = tuple(canary.only_at(only_at) for canary in canaries)
            if not canaries:
                return found, seconds
            for canary in canaries:
                for path, text in canary.files.items():
                    self._files.write(checkout.top / path, text, checkout.top)
            async for trial in self._proving.trials(checkout, occasion, slug, required):
                seconds += trial.verdict.seconds
                if trial.verdict.errored:
                    found[trial.required.label] = Sighting(failed=False, error=trial.verdict.reason)
                    continue
                output = self._files.read(trial.log, trial.log.parent) or ""
                found[trial.required.label] = sight(canaries, failed=not trial.verdict.passed, output=output)
        return found, seconds

    def _read(self, checkout: Checkout, path: str) -> str | None:
        return self._files.read(checkout.top / path, checkout.top)
