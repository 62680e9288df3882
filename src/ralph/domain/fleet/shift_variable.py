"""How a ralph knows that it does one shift for a worker; every command looks, so there is nothing else here to import."""

from __future__ import annotations

SHIFT = "RALPH_SHIFT"
"""The variable of its environment with the folder of its terms and its end."""
