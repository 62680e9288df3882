"""tox and nox: slower than the tools they start, and the way where nothing else names those."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.proposals.proposal import Files, Kind, Proposal, propose


def guardrails(files: Files) -> Iterator[Proposal]:
    for source, sign, command in _SIGNS:
        if sign in (files.read(source) or ""):
            yield propose(command, source, Kind.TEST)
            return


_SIGNS = (
    ("tox.ini", "[tox]", "tox"),
    ("tox.ini", "[testenv", "tox"),
    ("tox.toml", "env", "tox"),
    ("pyproject.toml", "[tool.tox]", "tox"),
    ("noxfile.py", "nox", "nox"),
)
"""A file, what in it is a sign of them, the command."""
