"""Worktrees that can build: what the settings say about them, put in place for one run of ``ralph work``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from ralph.adapters.checks.commands import ShellCommands
from ralph.adapters.git import Git
from ralph.adapters.workspace.ignored_files import is_program
from ralph.adapters.workspace.integration import PLACE, place_of
from ralph.adapters.workspace.preparation import Preparation
from ralph.adapters.workspace.worktree_includes import WorktreeIncludes, agreed_includes
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.config.root import git_top
from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand
from ralph.engine.deadline import until_time_is_over
from ralph.wiring.confinement import asks_for_sandbox
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Launch

TEARDOWN_SECONDS = 60.0
INSTALLED = ("node_modules", ".venv", "venv", "vendor")


def preparation_of(kit: Kit, git: Git, worktrees: Worktrees, folder: str) -> Preparation:
    """``folder``: where the project is in its repository."""
    own = kit.launch.settings.workspace
    top = git_top(kit.workspace) or kit.workspace

    async def run(command: str, place: Path, name: str) -> CommandVerdict:
        kit.note(f"{'merge' if name.startswith(PLACE) else name}: setting up its worktree: {command}")
        return await _run(kit, command, place, log=f"setup_{name}.log", seconds=own.timeout, allow=own.allow)

    return Preparation(
        git=git.at(top),
        worktrees=worktrees,
        marks=worktrees.marks,
        includes=WorktreeIncludes(git.at(top), agreed_includes(kit.launch.demands), worktrees.marks),
        share=own.share,
        setup=own.setup,
        run=run,
        warn=kit.warn,
        is_cut=lambda: kit.control.stopping_now or kit.time_over() is not None,
        control=f"{place_of(kit.record.folder)}-base",
        hint=_hint(kit),
        project=folder,
    )


def _hint(kit: Kit) -> str:
    logs = kit.record.folder / "setup_*.log"
    hint = f"all of its output is in {logs}; once it works, `ralph work` resumes"
    if kit.runners.is_confined and kit.launch.settings.sandbox_checks:
        hint += "; in a sandbox it reaches only the hosts of workspace.allow and sandbox.allow"
    return hint


def setup_commands(launch: Launch) -> Iterator[str]:
    """For the head of the run: each command, and who says so."""
    own = launch.settings.workspace
    for key, commands in (("setup", own.setup), ("teardown", own.teardown)):
        for command in commands:
            yield f"{key}: {command} ({launch.loaded.origin(f'workspace.{key}')})"
    if own.setup and own.allow and asks_for_sandbox(launch.settings, launch.profile):
        reaches = ", ".join(own.allow)
        yield f"setup with the network open to {reaches} ({launch.loaded.origin('workspace.allow')})"


def notes_on_setup(launch: Launch) -> Iterator[str]:
    """What tasks will miss, or silently find in the folders above their worktrees."""
    own, workspace = launch.settings.workspace, launch.root.workspace
    found = [name for name in INSTALLED if is_program(workspace / name)]
    if found and not own.setup and not own.share:
        yield (
            f"worktrees have no {' or '.join(found)} of their own: `workspace.setup` in the settings says how to install"
            " it there (docs/worktrees.md)"
        )


def tearing_down(kit: Kit, folder: str) -> Callable[[Path], Awaitable[None]]:
    """Its failure is a line, and keeps nothing from being removed."""
    commands = kit.launch.settings.workspace.teardown

    async def tear_down(path: Path) -> None:
        for command in commands:
            log = f"teardown_{path.name}.log"
            verdict = await _run(
                kit, command, path / folder, log=log, seconds=TEARDOWN_SECONDS / len(commands)
            )
            if not verdict.passed:
                kit.warn(f"{path.name}: workspace.teardown: `{command}` failed: {verdict.reason}")

    return tear_down


async def _run(
    kit: Kit, command: str, place: Path, *, log: str, seconds: float | None, allow: tuple[str, ...] = ()
) -> CommandVerdict:
    """Confined as the checks are: packages that a task asks for run programs of their own."""
    required = RequiredCommand(command=command, timeout=seconds, allow_empty=True)
    async with (
        kit.runner_at(place, allow=allow) as runner,
        until_time_is_over(kit.control, kit.time_over) as control,
    ):
        return await ShellCommands(runner, place).run(
            required, log=kit.record.folder / log, control=control, publish=kit.publish, rerun=False
        )
