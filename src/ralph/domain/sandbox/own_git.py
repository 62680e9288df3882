"""How ralph runs its own git: no questions, and no program that a repository's configuration could slip in.

An agent may have written that configuration, or made its own repository in the workspace: never start its hooks,
monitors, signing or diff programs. Standard library only: the hooks use this too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RUNS_NOTHING: Mapping[str, str] = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "submodule.recurse": "false",
}
"""Configuration for any git that works on what an agent wrote, including the user's own commands."""
_CONFIGURATION: Mapping[str, str] = {
    **RUNS_NOTHING,
    "diff.ignoreSubmodules": "dirty",
    "diff.external": "",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "merge.verifySignatures": "false",
    **{f"gpg.{kind}program": "false" for kind in ("", "openpgp.", "ssh.", "x509.")},
    "core.alternateRefsCommand": "true",
    "advice.graftFileDeprecated": "false",  # what is said of the empty one that ENVIRONMENT names
    "gc.auto": "0",  # it may run a hook of its own
    "maintenance.auto": "false",
    "safe.bareRepository": "explicit",  # a folder of the work may look like one
}
ENVIRONMENT: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_ALLOW_PROTOCOL": "file",  # nothing is fetched from where a repository says
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",  # the agent's own git may be running
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit stays what it was
    "GIT_GRAFT_FILE": "/dev/null",  # and so do its parents
    "LC_ALL": "C",
}
_OPTIONS = ("git", *(part for key, value in _CONFIGURATION.items() for part in ("-c", f"{key}={value}")))
# Looking into a submodule would run what its configuration names. An option, because .gitmodules overrides settings.
_NOT_INTO_SUBMODULES = "--ignore-submodules=dirty"
_ALWAYS = {
    "diff": ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", _NOT_INTO_SUBMODULES),
    "diff-files": (_NOT_INTO_SUBMODULES,),
    "diff-index": (_NOT_INTO_SUBMODULES,),
    "fetch": ("--upload-pack=git-upload-pack",),
    "ls-remote": ("--upload-pack=git-upload-pack",),
    "log": ("--no-ext-diff", "--no-textconv", "--submodule=short"),
    "push": ("--receive-pack=git-receive-pack",),
    "show": ("--no-ext-diff", "--no-textconv", "--submodule=short"),
    "status": (_NOT_INTO_SUBMODULES,),
}

OWN = (".ralph", ".ralph-active")
"""What ralph writes is never part of the work."""
NOT_OWN = (".", *(f":(exclude){name}" for name in OWN))


def own_git(command: str, *arguments: str, configuration: Sequence[str] = ()) -> tuple[str, ...]:
    """The command line, to run with ``ENVIRONMENT``. ``configuration``: further settings, as ``key=value``."""
    more = (part for setting in configuration for part in ("-c", setting))
    return (*_OPTIONS, *more, command, *_ALWAYS.get(command, ()), *arguments)
