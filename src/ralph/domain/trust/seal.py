"""The seal of a state folder: it tells a record that ralph wrote here from one that came with a clone."""

from __future__ import annotations

RECORDS = frozenset(
    {"ralph.db", "runs", "state", "tasks", "plans", "worktrees", "forward", "PROJECT-MESSAGE-BUS.md"}
)
"""What ralph writes in a state folder and acts on later."""


def seal_of(folder: str, key: bytes) -> str:
    """Nobody else has the key, and a folder elsewhere needs another seal."""
    from ralph.domain.trust.digest import blake2b

    return blake2b(folder.encode(errors="surrogateescape"), key=key, digest_size=32).hexdigest()
