"""What comes back from the server without its type: the last sign of life of a lost worker, and why a shift failed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from ralph.domain.fleet.shift import Beat, sane_beat
from ralph.domain.fleet.steps import Fault, sane_fault

T = TypeVar("T")


def read_beat(details: Sequence[Any]) -> Beat:
    return sane_beat(_read(details, Beat()))


def read_fault(details: Sequence[Any], *, kind: str, message: str) -> Fault:
    """``kind`` and ``message``: what is known of an error that nobody of ours has made."""
    return sane_fault(_read(details, Fault(kind=kind, message=message)))


def _read(details: Sequence[Any], usual: T) -> T:
    """A job must continue, whatever a worker has said."""
    with suppress(msgspec.ValidationError, OverflowError, ValueError):
        return msgspec.convert(details[0] if details else None, type(usual), strict=False)
    return usual
