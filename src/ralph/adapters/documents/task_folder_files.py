"""Makes a task folder, and clears the marker that an earlier run left in it."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISDIR

from ralph.adapters import beneath
from ralph.adapters.files import make_private_folder
from ralph.errors import StoreError


def make_task_folder(folder: Path) -> None:
    """Raises StoreError unless it is writable: an agent that cannot write DONE would never be done."""
    try:
        make_private_folder(folder)
        beneath.list_names(folder)
    except (FileExistsError, NotADirectoryError) as error:
        message = f"the task folder {folder} cannot be made: something else of that name is in the way"
        raise StoreError(message, hint="move it away, or choose another folder with --task-dir") from error
    except OSError as error:
        message = f"the task folder {folder} cannot be made: {error.strerror or error}"
        raise StoreError(message, hint="choose another folder with --task-dir") from error
    if not os.access(folder, os.W_OK | os.X_OK | os.R_OK):
        message = f"the task folder {folder} is not writable"
        raise StoreError(message, hint="change its permissions, or choose another folder with --task-dir")


def clear_marker(marker: Path) -> bool:
    """True if there was one."""
    try:
        found = beneath.status(marker)
        if found is None or S_ISDIR(found.st_mode):
            return False
        beneath.remove(marker)
    except OSError as error:
        message = f"cannot remove {marker}: {error.strerror or error}"
        raise StoreError(message, hint="remove it: the agent is not restarted while it is there") from error
    return True
