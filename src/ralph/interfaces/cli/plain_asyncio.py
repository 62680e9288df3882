"""asyncio without TLS, for commands that run nobody else's Python: with TLS comes OpenSSL, and ralph speaks none through asyncio."""

from __future__ import annotations

import sys


def import_asyncio() -> None:
    """As a Python that was built without TLS would. Whoever imports ``ssl`` afterwards gets it, as ever."""
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]
