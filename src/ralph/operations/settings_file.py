"""The team's settings file: written whole or not at all, the old one kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ralph.adapters.files import make_state_folder, real_path, write_atomic
from ralph.config.root import STATE_FOLDER
from ralph.config.schema import Settings
from ralph.config.sources import SETTINGS_FILE
from ralph.errors import ConfigError


def check_writable(root: Path) -> None:
    """Raise before anyone answers ten questions whose answers could not be saved."""
    folder = root / STATE_FOLDER
    if folder.exists() and not folder.is_dir():
        message = f"{folder} is in the way: a directory is needed there"
        raise ConfigError(message, hint="move it away")
    if (root / SETTINGS_FILE).is_dir():
        message = f"{root / SETTINGS_FILE} is a directory"
        raise ConfigError(message, hint="move it away")
    if not os.access(folder if folder.exists() else root, os.W_OK | os.X_OK):
        message = f"{folder} cannot be written"
        raise ConfigError(message, hint="check its permissions, or choose another place with --project-dir")


def settings_document(
    *,
    agent: str,
    flags: Sequence[str],
    maximum_iterations: object | None,
    completion_response: str | None,
    guardrails: Sequence[dict[str, object]],
    scm: dict[str, object] | None,
    setup: Sequence[str],
) -> dict[str, object]:
    """The settings file's content, keys in the order of the documentation. ``agent``: with its fallbacks after commas."""
    usual = Settings()
    command, *others = (name.strip() for name in agent.split(","))
    fallbacks = {"fallbacks": others} if others else {}
    limit = usual.maximum_iterations if maximum_iterations is None else maximum_iterations
    response = usual.completion_response if completion_response is None else completion_response
    document: dict[str, object] = {
        "maximumIterations": limit,
        "completionResponse": response,
        "outputTruncateChars": usual.output_truncate_chars,
        "streamAgentOutput": usual.stream_agent_output,
        "includeIterationCountInPrompt": usual.include_iteration_count_in_prompt,
        "agent": {"command": command, "flags": list(flags), **fallbacks},
        "guardrails": list(guardrails),
    }
    if scm is not None:
        document["scm"] = scm
    if setup:
        document["workspace"] = {"setup": setup[0] if len(setup) == 1 else list(setup)}
    return document


def write_settings(root: Path, text: str) -> Path | None:
    """Replace the settings atomically. Gives the path of the backup; None if there were no settings."""
    path = root / SETTINGS_FILE
    try:
        make_state_folder(root / STATE_FOLDER)
        # A link stays a link: the real file is kept elsewhere.
        path = real_path(path)
        backup = _keep_old(path)
        write_atomic(path, text.encode())
    except OSError as error:
        message = f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise ConfigError(message, hint="check permissions and free space") from error
    return backup


def _keep_old(path: Path) -> Path | None:
    try:
        old = path.read_bytes()
    except FileNotFoundError:
        return None
    number = 1
    while True:
        backup = path.with_name(path.name + (".bak" if number == 1 else f".bak.{number}"))
        try:
            if backup.read_bytes() == old:
                return backup
        except FileNotFoundError:
            write_atomic(backup, old)
            return backup
        number += 1
