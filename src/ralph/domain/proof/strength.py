"""How strongly a claim must be proven."""

from __future__ import annotations

from enum import StrEnum


class Proof(StrEnum):
    STRICT = "strict"  #: all layers on every claim, whatever else denies it
    GUARDED = "guarded"  #: comparison on every claim, the other layers where nothing else denies it
    TRUSTING = "trusting"  #: the user's own commands alone
