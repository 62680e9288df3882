"""Which tools of a session are running: the end of a call often does not say whose it is."""

from __future__ import annotations

MAX_OPEN_TOOLS = 4_096
"""Calls whose end never came are forgotten beyond this, oldest first."""


class OpenTools:
    """Call → the tool's name, in bounded memory."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def open(self, identity: str, name: str) -> None:
        if len(self._names) >= MAX_OPEN_TOOLS:
            # Half at once: taking single keys from the front of a dict gets slower with every one.
            for oldest in list(self._names)[: MAX_OPEN_TOOLS // 2]:
                del self._names[oldest]
        self._names[identity] = name

    def close(self, identity: str) -> str:
        """The tool's name; empty if no such call is known."""
        return self._names.pop(identity, "")
