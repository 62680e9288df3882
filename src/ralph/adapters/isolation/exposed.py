"""Commands that run outside of the sandbox although what they start lies in the workspace: the agent can change it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ralph.adapters.isolation.git_config import entries, included
from ralph.adapters.isolation.git_places import git_folders

_RUN_BY_GIT = frozenset(
    {"filter.clean", "filter.smudge", "filter.process", "diff.textconv", "diff.command", "merge.driver"}
)


def exposed_commands(workspace: Path, commands: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Sentences for the head of the run. ``commands`` by who names them; those of git's configuration are added."""
    named = [(who, command) for who, some in commands.items() for command in some]
    folders = git_folders(workspace)
    if folders is not None:
        config = folders.common / "config"
        for part in (config, *included(config)):
            named += [(f"git's {key}", value) for key, value in entries(part) if key in _RUN_BY_GIT]
    for who, command in dict.fromkeys(named):
        if (path := _in_workspace(command, workspace)) is not None:
            yield f"runs outside, though the agent can change it: {path} ({who})"


def _in_workspace(command: str, workspace: Path) -> Path | None:
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        words = command.split()
    top = workspace.resolve()
    for word in words:
        try:
            path = top / Path(word).expanduser()
            if path.is_file() and top in (path.parent.resolve() / path.name).parents:
                return path
        except (OSError, ValueError, RuntimeError):  # no path at all
            continue
    return None
