"""The hash that trust is remembered by."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # importing all of hashlib takes longer than the whole check
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
