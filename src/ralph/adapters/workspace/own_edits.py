"""What changed while no session was under way is the user's: a resumed run compares with that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.proof.own_edits import tell_as_found, tell_taken, tell_taken_before, tell_unknown
from ralph.domain.proof.protection import Protection
from ralph.values import dataclass

TAKEN = "taken"


def taken_before(store: GitProofStore) -> str:
    """What to say of a work that is accepted: somebody else than the user may have made an edit that was taken as theirs.
    It is noted with what the run is compared with, so that no kill loses it."""
    return tell_taken_before(json.loads(store.recall(TAKEN) or "[]"))


@dataclass(frozen=True, slots=True)
class OwnEdits:
    """``is_known``: the run had ended by itself and noted what it left, and no other run left anything since, so whatever
    differs from that is the user's.
    ``as_found``: the user says so of everything."""

    store: GitProofStore
    protection: Protection
    is_known: bool
    as_found: bool = False

    async def take(self) -> str:
        """Into what the run is compared with; gives what to tell the user. Raises GitFailed."""
        store = self.store
        now, changed = await store.differing()
        if self.as_found:
            bent = self._noted(now.differing(store.base))
            await store.remember_base(now)
            return tell_as_found(bent)
        if self.is_known:
            bent = self._noted(changed)
            await store.remember_base(store.base.putting_back(sorted(changed), now))
            return tell_taken(bent)
        unknown = changed & now.differing(store.base)
        return tell_unknown([path for path in self._deciding(sorted(unknown)) if not self._is_allowed(path)])

    def _noted(self, paths: Iterable[str]) -> list[str]:
        bent = self._deciding(sorted(paths))
        if bent:
            before = json.loads(self.store.recall(TAKEN) or "[]")
            self.store.remember(TAKEN, json.dumps(list(dict.fromkeys([*before, *bent]))))
        return bent

    def _deciding(self, paths: Sequence[str]) -> list[str]:
        strict = self.protection.without_exceptions()
        return [path for path in paths if strict.guard(path) is not None]

    def _is_allowed(self, path: str) -> bool:
        return self.protection.is_exception(path)
