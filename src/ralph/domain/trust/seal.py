"""The seal of a state folder: it tells a record that ralph wrote here from one that came with a clone.

It says nothing of what git or an archive put into the folder later: what names commands has a mark of its own.
"""

from __future__ import annotations

import json

LOGS = frozenset({"ralph.db-wal", "ralph.db-journal", "ralph.db-shm"})
"""SQLite's own files beside the database."""
RECORDS = LOGS | {
    *("ralph.db", "runs", "state", "tasks", "plans", "worktrees", "forward", "PROJECT-MESSAGE-BUS.md")
}
"""What ralph writes in a state folder and acts on later."""


def seal_of(folder: str, key: bytes) -> str:
    """Nobody else has the key, and a folder elsewhere needs another seal."""
    from ralph.domain.trust.digest import blake2b

    return blake2b(folder.encode(errors="surrogateescape"), key=key, digest_size=32).hexdigest()


def mark_of(folder: str, name: str, content: object, key: bytes) -> str:
    """For something that ralph wrote under this name in a state folder: elsewhere it needs another, too."""
    from ralph.domain.trust.digest import blake2b

    data = json.dumps([folder, name, content], sort_keys=True, separators=(",", ":"))
    return blake2b(data.encode(), key=key, digest_size=32).hexdigest()
