"""How ralph runs git for itself: it asks nothing, and runs nothing that a repository's configuration names.

An agent may have written that configuration, or made a repository of its own inside the workspace: hooks, monitors,
signing programs and diff programs in it are not ours to start. Standard library only: the hooks use this too.
"""

from __future__ import annotations

from collections.abc import Mapping

RUNS_NOTHING: Mapping[str, str] = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "submodule.recurse": "false",
}
"""Configuration for any git on what an agent wrote, the user's own commands included."""
_CONFIGURATION: Mapping[str, str] = {
    **RUNS_NOTHING,
    "diff.ignoreSubmodules": "dirty",
    "diff.external": "",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "merge.verifySignatures": "false",
}
ENVIRONMENT: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_OPTIONAL_LOCKS": "0",  # the agent's own git may be at work
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what it was when it was made
    "LC_ALL": "C",
}
_OPTIONS = ("git", *(part for key, value in _CONFIGURATION.items() for part in ("-c", f"{key}={value}")))
# To look into a submodule would run what its configuration names. By option: .gitmodules would outdo the setting.
_NOT_INTO_SUBMODULES = "--ignore-submodules=dirty"
_ALWAYS = {
    "diff": ("--no-ext-diff", "--no-textconv", "--no-color", _NOT_INTO_SUBMODULES),
    "status": (_NOT_INTO_SUBMODULES,),
}

OWN = (".ralph", ".ralph-active")
"""What ralph itself writes is never part of the work."""
NOT_OWN = (".", *(f":(exclude){name}" for name in OWN))


def own_git(command: str, *arguments: str) -> tuple[str, ...]:
    """The command line; ``ENVIRONMENT`` goes with it."""
    return (*_OPTIONS, command, *_ALWAYS.get(command, ()), *arguments)
