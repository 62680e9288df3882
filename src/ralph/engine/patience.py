"""Reads a prompt that an editor may be replacing at this moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ralph.errors import UsageError

READ_AGAIN = 5
READ_AGAIN_SECONDS = 0.1


async def read_patiently(read: Callable[[], str]) -> str:
    """Editors replace a file with another one, so it may be missing for a moment. Raises UsageError if it stays so."""
    for _ in range(READ_AGAIN):
        try:
            return read()
        except UsageError:
            await asyncio.sleep(READ_AGAIN_SECONDS)
    return read()
