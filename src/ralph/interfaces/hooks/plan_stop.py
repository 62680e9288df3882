"""Whether a session of ``ralph plan run`` may stop: the plan's files and git, judged by ``domain/plan/stop_checks``."""

from __future__ import annotations

import os
import subprocess  # noqa: TID251 (a hook is one file without adapters; git alone is asked, bounded in time)
from typing import TYPE_CHECKING

from ralph.domain.plan.active_marker import MARKER_FILE, ActiveMarker, active_marker_from
from ralph.domain.plan.stop_checks import SNAPSHOT_MISSING, stop_reasons
from ralph.domain.sandbox.own_git import ENVIRONMENT, NOT_OWN, own_git
from ralph.interfaces.hooks.places import nearest_with
from ralph.operations.atomic_files import read_whole
from ralph.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ralph.interfaces.hooks.protocol import HookEvent

LARGEST_FILE = 20_000_000
MOST_REASONS = 20
LONGEST_TEXT = 9_000
GIT_SECONDS = 20
STATUS = ("status", "--porcelain", "-z", "--no-renames")


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """``reasons``: why the session may not stop yet."""

    reasons: tuple[str, ...] = ()
    warning: str = ""

    @property
    def text(self) -> str:
        shown = self.reasons[:MOST_REASONS]
        more = len(self.reasons) - len(shown)
        lines = [f"- {reason}" for reason in shown] + ([f"- and {more} more"] if more else [])
        return ("This iteration cannot stop yet:\n" + "\n".join(lines))[:LONGEST_TEXT]


def plan_verdict(event: HookEvent) -> PlanVerdict:
    found = active_run(event)
    if found is None:
        return PlanVerdict()
    root, marker = found
    data = read_whole(os.path.join(root, marker.ralph_dir, "tasks.json"), LARGEST_FILE)  # noqa: PTH118
    reasons = stop_reasons(
        data.decode(errors="replace") if data is not None else None,
        snapshot=marker.snapshot,
        mode=marker.iteration_mode,
        rules=marker.rules,
        uncommitted=uncommitted(root, event.environ, before=marker.uncommitted),
        folder=marker.ralph_dir,
    )
    unchecked = not marker.skip_review and (marker.snapshot is None or marker.iteration_mode is None)
    return PlanVerdict(reasons, f"ralph: {SNAPSHOT_MISSING}" if unchecked else "")


def active_run(event: HookEvent) -> tuple[str, ActiveMarker] | None:
    """The project and marker of the run that this session belongs to."""
    for start in event.starts:
        root = nearest_with(start, MARKER_FILE, event.environ)
        data = read_whole(f"{root}/{MARKER_FILE}", LARGEST_FILE) if root is not None else None
        marker = active_marker_from(data.decode(errors="replace")) if data is not None else None
        if root is not None and marker is not None and is_ours(marker, event.environ):
            return root, marker
    return None


def is_ours(marker: ActiveMarker, environ: Mapping[str, str]) -> bool:
    """The marker of a killed run binds no session, nor does a run that merely shares the project with one."""
    run = environ.get("RALPH_RUN_ID")
    if not run:
        return marker.pid > 1 and marker.pid in ancestors()  # anyone can guess the first process
    if marker.run_id and marker.run_id != run:  # a run that a session of that run started
        return False
    return marker.mode == "sandbox" or is_alive(marker.pid)  # a sandbox hides other processes


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:  # another user's, and alive
        return True
    except (OSError, OverflowError):
        return False
    return True


def ancestors() -> list[int]:
    """The processes above this one, as far as the system says."""
    found = [os.getppid()]
    while found[-1] > 1:
        data = read_whole(f"/proc/{found[-1]}/stat", 10_000)
        if data is None:
            break
        found.append(int(data.rpartition(b")")[2].split()[1]))
    return found


def _path_outside(root: str, path: str) -> str:
    """Without folders of the project: an agent could have put a git there."""
    top = f"{os.path.realpath(root)}/"
    return os.pathsep.join(
        folder
        for folder in path.split(os.pathsep)
        if folder.startswith("/") and not f"{os.path.realpath(folder)}/".startswith(top)
    )


def uncommitted(root: str, environ: Mapping[str, str], *, before: Sequence[str] = ()) -> list[str]:
    """What was not so ``before`` the session. Nothing if there is no repository, or git cannot say."""
    # Only where it matters: a new folder that is not ignored may be large.
    new_files = ("--untracked-files=all",) if before else ()
    environment = {**environ, **ENVIRONMENT, "PATH": _path_outside(root, environ.get("PATH", os.defpath))}
    try:
        ran = subprocess.run(
            own_git(*STATUS, *new_files, "--", *NOT_OWN), cwd=root, env=environment, capture_output=True, timeout=GIT_SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    entries = ran.stdout.decode(errors="surrogateescape").split("\0") if ran.returncode == 0 else []
    known = frozenset(before)
    return [entry[3:] for entry in entries if entry and entry[3:] not in known]
