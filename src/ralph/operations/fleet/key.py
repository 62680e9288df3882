"""A key for everything that goes through the server."""

from __future__ import annotations

from ralph.adapters.temporal.codec import make_key

__all__ = ["make_key"]
