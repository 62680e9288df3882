"""Reads prompts from files: the prompt of a run, the instructions of a role."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import NotPlain, real_path
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ConfigError, UsageError

MOST_BYTES = 100_000_000
WORKFLOW_FILE = "WORKFLOW.md"
LARGEST_ROLE_PROMPT = 200_000
"""Bytes: it goes into every prompt of the role."""


def read_prompt_file(path: Path) -> str:
    """The whole file. Raises UsageError.

    ``path`` was resolved when the user named it: a link that is there now is the agent's, and where it leads is not what
    the user asked for.
    """
    try:
        text = beneath.read_plain(path, MOST_BYTES).decode("utf-8")
    except NotPlain:
        message = f"prompt file is not a regular file: {path}"
        raise UsageError(
            message, hint="it is read again for every iteration; use -f - to read standard input once"
        ) from None
    except beneath.LinkInTheWay as error:
        message = f"the prompt file {path} was replaced since the run began: {error.strerror}"
        # A run of an earlier version recorded the user's own link: nobody can tell it from the agent's.
        hint = "put the file back in its place, also if the link is your own; then resume the run"
        raise UsageError(message, hint=hint) from None
    except FileNotFoundError:
        message = f"prompt file not found: {path}"
        raise UsageError(
            message, hint="check --prompt-file; a relative path starts at the current directory"
        ) from None
    except IsADirectoryError:
        message = f"prompt file is a directory: {path}"
        raise UsageError(message, hint="name the file in it, for example PROMPT.md") from None
    except UnicodeDecodeError as error:
        message = f"prompt file is not UTF-8 text: {path} (byte {error.start})"
        raise UsageError(message, hint="save it as UTF-8") from None
    except OSError as error:
        message = f"cannot read prompt file {path}: {error.strerror or error}"
        raise UsageError(message, hint="check its permissions") from None
    if not text.strip():
        message = f"prompt file is empty: {path}"
        raise UsageError(message, hint="write there what the agent should do")
    return text


def read_role_prompt(folder: Path, name: str, setting: str) -> str:
    """The instructions of a role, from the file that ``setting`` names. Raises ConfigError.

    One that is named within the project must be in it, links followed: it could have been made one by an agent, or have
    come with a clone.
    """
    hint = f"write the file, or change {setting} in .ralph/settings.json"
    path, real = folder / name, real_path(folder / name)
    if not Path(name).is_absolute() and not real.is_relative_to(real_path(folder)):
        message = f"{setting}: {path} leads out of the project, to {real}"
        raise ConfigError(message, hint="copy the file into the project, or name it with its whole path")
    try:
        data = beneath.read_plain(real, LARGEST_ROLE_PROMPT + 1)
    except FileNotFoundError:
        message = f"{setting}: there is no file {path}"
        raise ConfigError(message, hint=hint) from None
    except OSError as error:
        message = f"{setting}: {path} cannot be read: {error.strerror or error}"
        raise ConfigError(message, hint=hint) from None
    if len(data) > LARGEST_ROLE_PROMPT:
        message = f"{setting}: {path} is larger than {LARGEST_ROLE_PROMPT // 1000} kB"
        raise ConfigError(message, hint="shorten it: it goes into every prompt of the role")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        message = f"{setting}: {path} is not UTF-8 text"
        raise ConfigError(message, hint="save it as UTF-8") from None
    if path.name == WORKFLOW_FILE:
        text = _workflow_body(text, path, setting)
    if not text.strip():
        message = f"{setting}: {path} is empty"
        raise ConfigError(message, hint=hint)
    return text


def _workflow_body(text: str, path: Path, setting: str) -> str:
    """Symphony's file has its settings before the prompt, and names of its own in it. Raises ConfigError."""
    from ralph.domain.tasks.workflow_template import split_workflow, translate_body

    parts = split_workflow(text)
    template = translate_body(parts.body)
    if template.unknown:
        message = f"{setting}: {path} has {clean_line(template.unknown[0])}, for which ralph has nothing"
        raise ConfigError(message, hint="remove it, or name another file")
    return template.text
