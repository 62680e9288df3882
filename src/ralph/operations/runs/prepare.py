"""Prepare a run: everything is resolved, and whatever can be known to be wrong is raised before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ralph.config.root import Root
    from ralph.config.schema import Settings
    from ralph.config.sources import Flag
    from ralph.wiring.launch import Launch


class GivenPrompt(NamedTuple):
    """Exactly one of the two is given; a file is read again for every iteration."""

    text: str | None = None
    file: Path | None = None


def require_prompt_profile(name: str) -> None:
    """Raises UsageError for a profile that a prompt alone does not run, with the command that does."""
    from ralph.wiring.runs.prompt_run import profile_of_run

    profile_of_run(name)


def prepare_prompt_run(
    settings: Settings,
    root: Root,
    prompt: GivenPrompt,
    *,
    profile: str = "basic",
    flags: Sequence[Flag] = (),
) -> Launch:
    """`ralph run`. Raises whatever can be known to be wrong before anything is started or written."""
    from ralph.wiring.runs.prompt_run import Prompt, prepare_run

    return prepare_run(settings, root, Prompt(*prompt), profile=profile, flags=flags)


def prepare_supervised_run(
    settings: Settings,
    root: Root,
    *,
    prompt: GivenPrompt | None,
    command: Sequence[str] = (),
    task: str = "",
    project: str = "",
    task_folder: Path | None = None,
    flags: Sequence[Flag] = (),
) -> Launch:
    """`ralph supervise`. Raises whatever can be known to be wrong before anything is started or written."""
    from ralph.wiring.runs.prompt_run import Prompt
    from ralph.wiring.runs.supervised_run import prepare_supervised

    return prepare_supervised(
        settings,
        root,
        prompt=None if prompt is None else Prompt(*prompt),
        command=command,
        task=task,
        project=project,
        task_folder=task_folder,
        flags=flags,
    )
