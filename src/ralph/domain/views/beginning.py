"""How to begin where nothing has run yet: what the page and the terminal UI show instead of nothing."""

from __future__ import annotations

from typing import NamedTuple


class Beginning(NamedTuple):
    """A command to type, and what it does."""

    command: str
    does: str


BEGINNINGS = (
    Beginning("ralph init", "Write the settings: which agent, and which command must pass."),
    Beginning(
        'ralph run "Fix the failing tests" --guardrail "pytest -q"',
        "Let the agent work until that command passes.",
    ),
    Beginning("ralph task add -f tasks.yaml", "Or list several tasks, and start them with `ralph work`."),
    Beginning("ralph plan new --name search", "Or write a plan first; each story is reviewed."),
    Beginning("ralph demo", "Or watch a run in a small example project; it needs no account."),
)
