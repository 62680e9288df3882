"""What runs remember of a plan, and whether their last word on it was spoken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.documents.plan_files import LARGEST_BYTES, TRUSTED, read_regular
from ralph.adapters.storage.run_request import load_request
from ralph.engine.plan_ports import TrustedPlan, trusted_plan_from
from ralph.errors import StoreError

ASIDE = "plan"
"""In a run's folder."""


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
    for file in _newest_first(state_folder / "runs"):
        run = file.parents[1]
        try:
            arguments = load_request(run).arguments
        except StoreError:
            continue
        if arguments.get("ralphDir") != str(folder):
            continue
        data = read_regular(file, 2 * LARGEST_BYTES)
        trusted = trusted_plan_from(data.decode(errors="replace")) if data is not None else None
        if trusted is None:
            message = f"what run {run.name} remembers of the plan is damaged: {file}"
            raise StoreError(
                message, hint=f"see that {folder}/tasks.json is as you want it, then remove that file"
            )
        return PlanMemory(file, run.name, trusted)
    return None


def _newest_first(runs: Path) -> list[Path]:
    found = []
    for file in runs.glob(f"*/{ASIDE}/{TRUSTED}"):
        try:
            found.append((file.lstat().st_mtime_ns, file))
        except OSError:  # gone meanwhile
            continue
    return [file for _, file in sorted(found, reverse=True)]
