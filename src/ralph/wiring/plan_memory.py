"""What ralph remembers of a plan, and whether the last word on it was spoken.

It belongs to the plan, not to a run: `ralph runs prune` must not turn what nobody judged into the user's word.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.documents.plan_files import LARGEST_BYTES, write_errors
from ralph.adapters.files import make_private_folder, real_path
from ralph.adapters.storage.run_files import load_request
from ralph.domain.text.safe_text import slug
from ralph.engine.plans.ports import TrustedPlan, trusted_plan_from
from ralph.errors import StoreError
from ralph.values import dataclass

ASIDE = "plan"
"""In a run's folder: what was undone."""
PLANS = "plans"
SUPERSEDED = ".superseded"


@dataclass(frozen=True, slots=True)
class PlanMemory:
    """``run_id``: the run that wrote it."""

    file: Path
    run_id: str
    trusted: TrustedPlan

    @property
    def is_unjudged(self) -> bool:
        """That run was cut off in a session: what it did to the plan is nobody's word."""
        return self.trusted.in_session


def memory_file(state_folder: Path, folder: Path) -> Path:
    """Named after where the plan is as seen from the project, so that both can be moved together."""
    place = os.path.relpath(folder, real_path(state_folder).parent)
    digest = blake2b(os.fsencode(place), digest_size=4).hexdigest()
    return state_folder / PLANS / f"{slug(place)}-{digest}.json"


def plan_memory(state_folder: Path, folder: Path) -> PlanMemory | None:
    """None: no run has worked on the plan in ``folder`` yet."""
    for file in _memories(state_folder, folder):
        trusted = _trusted_in(file)
        if trusted is None:
            message = f"what ralph remembers of the plan is damaged: {file}"
            raise StoreError(
                message, hint=f"see that {folder}/tasks.json is as you want it, then remove that file"
            )
        return PlanMemory(file, trusted.run_id or file.parents[1].name, trusted)
    return None


def adopt_memory(state_folder: Path, folder: Path, memory: PlanMemory | None) -> Path:
    """The plan's own file; what an earlier version of ralph remembered in a run's folder is moved there."""
    own = memory_file(state_folder, folder)
    if memory is not None and memory.file != own:
        with write_errors(own):
            make_private_folder(own.parent)
            beneath.write_atomic(own, memory.trusted.to_json(), own.parent)
    for file in _left_in_runs(state_folder, folder):
        _put_aside(file)
    return own


def forget_unjudged(state_folder: Path, folder: Path) -> bool:
    """The plan in ``folder`` is a new one, by the user's will: what a session did to the old one is of no interest.

    A memory that cannot be read keeps nobody from that; True if there was one.
    """
    was_unreadable = False
    for file in reversed(_memories(state_folder, folder)):  # the one that counts last, should one fail
        trusted = _trusted_in(file)
        was_unreadable |= trusted is None
        _put_aside(file)
    return was_unreadable


def unjudged_note(state_folder: Path, folder: Path) -> str:
    """For anyone who reads the plan: it may say more than is true. Empty if it does not."""
    try:
        memory = plan_memory(state_folder, folder)
    except StoreError:
        return ""
    if memory is None or not memory.is_unjudged:
        return ""
    return f"the last session of run {memory.run_id} is not judged, or never was: what it wrote into tasks.json may not hold"


def _trusted_in(file: Path) -> TrustedPlan | None:
    data = beneath.read_whole(file, 2 * LARGEST_BYTES, file.parent)
    return trusted_plan_from(data.decode(errors="replace")) if data is not None else None


def _put_aside(file: Path) -> None:
    with write_errors(file):
        aside = file.with_name(file.name + SUPERSEDED)
        beneath.remove(aside, file.parent)
        trees.move(file, aside, file.parent, file.parent)


def _memories(state_folder: Path, folder: Path) -> list[Path]:
    """The one that counts first."""
    own = memory_file(state_folder, folder)
    return [*([own] if os.path.lexists(own) else []), *_left_in_runs(state_folder, folder)]


def _left_in_runs(state_folder: Path, folder: Path) -> list[Path]:
    """By earlier versions of ralph; the newest first."""
    found = []
    runs = state_folder / "runs"
    try:
        names = beneath.list_names(runs, state_folder)
    except OSError:
        return []
    for file in (runs / name / ASIDE / "plan.json" for name in names):
        try:
            about = beneath.status(file, state_folder)
            if about is not None and load_request(file.parents[1]).arguments.get("ralphDir") == str(folder):
                found.append((about.st_mtime_ns, file))
        except (OSError, StoreError):  # removed in the meantime, or nobody knows what it was about
            continue
    return [file for _, file in sorted(found, reverse=True)]
