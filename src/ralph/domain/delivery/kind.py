"""What becomes of accepted work."""

from __future__ import annotations

from enum import StrEnum


class DeliveryKind(StrEnum):
    LOCAL = "local"  #: it stays on this machine; `ralph work` merges it into the user's branch
    PR = "pr"  #: its branch becomes a pull request
