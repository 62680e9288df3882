"""What changed while no session was under way is the user's: a resumed run compares with that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.proof.own_edits import tell_as_found, tell_taken, tell_unknown
from ralph.domain.proof.protection import Protection


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
            bent = self._deciding(sorted(now.differing(store.base)))
            await store.remember_base(now)
            return tell_as_found(bent)
        if self.is_known:
            await store.remember_base(store.base.putting_back(sorted(changed), now))
            return tell_taken(self._deciding(sorted(changed)))
        unknown = changed & now.differing(store.base)
        return tell_unknown([path for path in self._deciding(sorted(unknown)) if not self._is_allowed(path)])

    def _deciding(self, paths: Sequence[str]) -> list[str]:
        strict = self.protection.without_exceptions()
        return [path for path in paths if strict.guard(path) is not None]

    def _is_allowed(self, path: str) -> bool:
        return self.protection.is_exception(path)
