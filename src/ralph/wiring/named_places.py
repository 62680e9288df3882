"""Files and folders that the user names for a run: looked up once, for all of it."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.config.root import Root
from ralph.config.schema import Settings
from ralph.domain.loop.profile import Profile
from ralph.errors import UsageError
from ralph.wiring.confinement import asks_for_sandbox, listed_folders


def settle_place(path: Path, what: str, root: Root, settings: Settings, profile: Profile) -> Path:
    """Where it leads now. Raises UsageError if an agent that is confined may have decided that.

    What is named where it writes must be there: it could have left a link in an earlier run, and so could a clone.
    """
    real, plain = Path(os.path.realpath(path)), os.path.normpath(path.absolute())
    if real.is_symlink():
        message = f"{what} {path} is a link that leads in a circle"
        raise UsageError(message, hint="remove the link, or name another file")
    if asks_for_sandbox(settings, profile):
        from ralph.adapters.own_programs import OwnPrograms

        listed = listed_folders(root.workspace, settings, os.environ)
        reach = [os.path.realpath(folder) for folder in (root.workspace, *listed)]
        leaves = not any(real.is_relative_to(folder) for folder in reach)
        by_link = OwnPrograms(reach=reach).is_reached(plain) or os.path.realpath(plain) != str(real)
        if leaves and by_link:
            message = f"{what} {path} leads to {real}, through a link where the agent may write"
            raise UsageError(
                message, hint="give the real path, or --no-sandbox; remove the link if it is not yours"
            )
    return real
