"""How a process ended, in words. A negative code is the signal that ended it."""

from __future__ import annotations

import signal


def exit_words(code: int | None) -> str:
    """``exit code 3``, ``SIGTERM``"""
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def ended_words(code: int) -> str:
    """``exited with code 3``, ``was ended by SIGTERM``"""
    return f"exited with code {code}" if code >= 0 else f"was ended by {exit_words(code)}"
