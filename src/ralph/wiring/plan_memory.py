"""What runs remember of a plan, and whether their last word on it was spoken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.documents.plan_files import LARGEST_BYTES, TRUSTED, write_errors
from ralph.adapters.files import read_whole
from ralph.adapters.storage.run_files import load_request
from ralph.engine.plans.ports import TrustedPlan, trusted_plan_from
from ralph.errors import StoreError

ASIDE = "plan"
"""In a run's folder."""
SUPERSEDED = "plan.superseded.json"


@dataclass(frozen=True, slots=True)
class PlanMemory:
    """The newest one of a plan, whichever run wrote it."""

    file: Path
    run_id: str
    trusted: TrustedPlan

    @property
    def is_unjudged(self) -> bool:
        """That run was cut off in a session: what it did to the plan is nobody's word."""
        return self.trusted.in_session


def plan_memory(state_folder: Path, folder: Path) -> PlanMemory | None:
    """None: no run has worked on the plan in ``folder`` yet."""
    for file in _newest_first(state_folder, folder):
        run = file.parents[1]
        trusted = _trusted_in(file)
        if trusted is None:
            message = f"what run {run.name} remembers of the plan is damaged: {file}"
            raise StoreError(
                message, hint=f"see that {folder}/tasks.json is as you want it, then remove that file"
            )
        return PlanMemory(file, run.name, trusted)
    return None


def supersede(state_folder: Path, folder: Path, *, by: Path) -> None:
    """From now on ``by`` is the only memory of the plan: which is the newest is not a question for a clock."""
    for file in _newest_first(state_folder, folder):
        if file != by:
            _put_aside(file)


def forget_unjudged(state_folder: Path, folder: Path) -> tuple[str, ...]:
    """The plan in ``folder`` is a new one, by the user's will: what a session did to the old one is of no interest.

    A memory that cannot be read keeps nobody from that; gives the runs whose memory it was.
    """
    unreadable = []
    for file in reversed(_newest_first(state_folder, folder)):  # the one that counts last, should one fail
        trusted = _trusted_in(file)
        if trusted is None:
            unreadable.append(file.parents[1].name)
        if trusted is None or trusted.in_session:
            _put_aside(file)
    return tuple(unreadable)


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
    data = read_whole(file, 2 * LARGEST_BYTES, follow=False)
    return trusted_plan_from(data.decode(errors="replace")) if data is not None else None


def _put_aside(file: Path) -> None:
    with write_errors(file):
        file.rename(file.with_name(SUPERSEDED))


def _newest_first(state_folder: Path, folder: Path) -> list[Path]:
    found = []
    for file in (state_folder / "runs").glob(f"*/{ASIDE}/{TRUSTED}"):
        try:
            if load_request(file.parents[1]).arguments.get("ralphDir") == str(folder):
                found.append((file.lstat().st_mtime_ns, file))
        except (OSError, StoreError):  # removed in the meantime, or nobody knows what it was about
            continue
    return [file for _, file in sorted(found, reverse=True)]
