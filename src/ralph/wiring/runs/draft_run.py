"""Drafting a plan is a run too: one prompt, and a check that says whether the files are a plan."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ralph.adapters.beneath import write_atomic
from ralph.adapters.documents.plan_files import PRD, PlanFiles, require_plan
from ralph.adapters.documents.plan_start import is_scaffold
from ralph.config.loading import Loaded
from ralph.config.root import Root
from ralph.domain.loop.profile import Profile
from ralph.domain.plan.draft import draft_prompt
from ralph.engine.plans.proofs import PlanDraftCheck
from ralph.engine.prompts.work import PromptWork
from ralph.errors import StoreError, UsageError
from ralph.values import dataclass
from ralph.wiring.agents import chosen_agents
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Composed, Launch
from ralph.wiring.profiles import load_profile
from ralph.wiring.requirements import require_runnable

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class DraftComposition:
    """``has_prd``: the specification is there already and stays as it is."""

    folder: Path
    description: str
    has_prd: bool
    remarks: tuple[str, ...] = ()
    rounds: int = ROUNDS

    def arguments(self) -> Mapping[str, object]:
        return {
            "folder": str(self.folder),
            "description": self.description,
            "hasPrd": self.has_prd,
            "remarks": list(self.remarks),
            "rounds": self.rounds,
        }

    def describe(self) -> Mapping[str, object]:
        return {"prompt": self.description, "folder": str(self.folder)}

    def warnings(self, launch: Launch) -> Iterator[str]:
        return iter(())

    @asynccontextmanager
    async def compose(self, kit: Kit) -> AsyncIterator[Composed]:
        files = PlanFiles(kit.workspace, self.folder, write_atomic, kit.record.folder)
        prompt = draft_prompt(
            folder=files.folder, description=self.description, has_prd=self.has_prd, remarks=self.remarks
        )
        yield Composed(
            work=PromptWork(lambda: prompt),
            agent=kit.agent(tags=()),
            checks=[PlanDraftCheck(files, keeps_prd=self.has_prd, is_scaffold=is_scaffold)],
            rules=kit.launch.rules(),
            workspace=kit.git_workspace(),
        )


def prepare_draft(
    loaded: Loaded,
    root: Root,
    *,
    ralph_dir: Path,
    description: str,
    remarks: Sequence[str] = (),
    has_prd: bool | None = None,
    rounds: int = ROUNDS,
    resumes: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Raises what can be known to be wrong before anything is started. ``has_prd`` None: look."""
    settings = loaded.settings
    require_runnable(settings)
    folder = require_plan(root.workspace, ralph_dir)
    if has_prd is None:
        prd = PlanFiles(root.workspace, folder, write_atomic).read_guarded()[PRD]
        has_prd = prd is not None and not is_scaffold(prd.decode(errors="replace"))
    if not has_prd and not description.strip():
        message = "there is nothing to draft from: no description, and prd.md is still the empty template"
        raise UsageError(message, hint='ralph plan draft "what is wanted", or write prd.md first')
    return Launch(
        profile=load_profile("draft"),
        loaded=loaded,
        settings=settings,
        root=root,
        agents=chosen_agents(settings, root.workspace, environ=environ),
        composition=DraftComposition(folder, description, has_prd, tuple(remarks), rounds),
        maximum=rounds,
        resumes=resumes,
    )


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    match arguments:
        case {
            "folder": str(folder),
            "description": str(description),
            "hasPrd": bool(has_prd),
            "remarks": list(remarks),
        }:
            return prepare_draft(
                loaded,
                root,
                ralph_dir=Path(folder),
                description=description,
                remarks=[str(remark) for remark in remarks],
                has_prd=has_prd,
                rounds=rounds if isinstance(rounds := arguments.get("rounds"), int) else ROUNDS,
                resumes=resumes,
            )
        case _:
            message = f"the request of run {resumes} does not say what to draft"
            raise StoreError(message, hint="start again with `ralph plan draft`")
