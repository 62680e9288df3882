"""The seal of a state folder: it tells a record that ralph wrote here from one that came with a clone."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # importing all of hashlib takes longer than the whole check
except ImportError:
    from hashlib import blake2b

RECORDS = frozenset(
    {"ralph.db", "runs", "state", "tasks", "plans", "worktrees", "forward", "PROJECT-MESSAGE-BUS.md"}
)
"""What ralph writes in a state folder and acts on later."""


def seal_of(folder: str, key: bytes) -> str:
    """Nobody else has the key, and a folder elsewhere needs another seal."""
    return blake2b(folder.encode(errors="surrogateescape"), key=key, digest_size=32).hexdigest()
