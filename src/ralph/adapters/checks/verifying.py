"""Deprecated: the values of a user's own verification method. Import them from ``ralph``."""

from ralph.engine.tasks.ports import MethodVerdict, Verifying

__all__ = ["MethodVerdict", "Verifying"]
