"""How strongly a claim must be proven."""

from __future__ import annotations

from enum import StrEnum


class Proof(StrEnum):
    STRICT = "strict"  #: all layers on every claim
    GUARDED = "guarded"  #: all layers before an assignment is finally accepted
    TRUSTING = "trusting"  #: the user's own commands alone
