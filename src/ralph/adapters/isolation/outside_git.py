"""The user's git commands outside of a sandbox, on what an agent wrote in it.

The repository's own configuration and hooks are out of the agent's reach, but it can make another repository inside
the workspace and add it as a submodule: git would then look into that one too, and run what *its* configuration says.
Hooks of the project are its own, yet what they run (a linter's configuration, a test) is the agent's work.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph.domain.sandbox.own_git import RUNS_NOTHING

_COUNT = "GIT_CONFIG_COUNT"
_SAFE = {**RUNS_NOTHING, "diff.ignoreSubmodules": "all"}


def safe_git_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep git from running anything of the agent's; they come after what ``environ`` configures."""
    given = environ.get(_COUNT, "")
    first = int(given) if given.isascii() and given.isdigit() else 0
    variables = {_COUNT: str(first + len(_SAFE))}
    for number, (key, value) in enumerate(_SAFE.items(), first):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
