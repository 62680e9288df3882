"""The names of the families that settings may speak of."""

from __future__ import annotations

PACKS = ("backup", "cloud", "containers", "databases", "publish", "remote", "services", "strict")
"""Families that the user may make stricter (``guard.packs``; ``all``: every one) or switch off (``guard.allow``)."""
