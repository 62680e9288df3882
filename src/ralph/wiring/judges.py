"""Who judges what others claim: fresh sessions of the agent that the settings choose for it, as it was when the run began."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ralph.config.root import git_top
from ralph.domain.loop.session_report import Fatal
from ralph.errors import AgentUnavailable
from ralph.wiring.launch import Launch
from ralph.wiring.roles import anchor_programs, command_lines, judge_of, judges_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph.adapters.workspace.program_files import ProgramFiles
    from ralph.engine.ports import Agent, AgentRequest
    from ralph.engine.tasks.ports import Judges
    from ralph.wiring.kit import Kit
    from ralph.wiring.record import Record

NOTE = "programs"
LEFT = "programs_left"
PUT_BACK = (
    "put it back as it was; what may judge while it is changed is another program (profiles.verified.semanticAgent), "
    "or this one in a new run"
)


def judges_of(kit: Kit) -> Judges:
    """Relative programs are the project's, also for whoever judges in a throw-away checkout."""
    settings = anchor_programs(kit.launch.settings, kit.workspace)

    def judge(model: str, tags: Sequence[str], *, turn: int = 0) -> Agent:
        if changed := kit.program_files.changed(judges_lines(settings)):
            message = no_longer_judges(changed)
            raise AgentUnavailable(message, hint=PUT_BACK)
        chosen = judge_of(settings, kit.workspace, model=model)
        return kit.agent(tags=tags, chosen=chosen.beginning_with(turn))

    return judge


def trusted_judge(kit: Kit, agent: Agent, *, judges: Callable[[AgentRequest], bool]) -> Agent:
    """``agent``, but no session of it that ``judges`` is of a program that was changed in the run."""
    from ralph.engine.agents.trusted_judge import TrustedJudge

    def why_not() -> Fatal | None:
        changed = kit.program_files.changed()
        return Fatal(no_longer_judges(changed), PUT_BACK) if changed else None

    return TrustedJudge(agent, judges=judges, why_not=why_not)


def no_longer_judges(changed: Sequence[str]) -> str:
    files = ", ".join(changed)
    return f"{files} was changed during the run, and whoever judges must be as when it began"


def program_files_of(launch: Launch, record: Record, environment: Mapping[str, str]) -> ProgramFiles:
    """Those of the run's agents that a worker could change. Raises GitFailed if what was kept of them is damaged."""
    from ralph.adapters.storage.earlier_runs import last_unaccepted
    from ralph.adapters.workspace.program_files import ProgramFiles

    if (files := launch.program_files) is None:
        root = launch.root
        now = ProgramFiles(
            lines=command_lines(anchor_programs(launch.settings, root.workspace)),
            workspace=root.workspace,
            places=tuple(dict.fromkeys(git_top(place) or place for place in (root.workspace, root.state))),
            search=environment.get("PATH", os.defpath),
        )
        if launch.resumes:
            files = now.recalled(record.folder / NOTE)
            if launch.as_found:
                files = now.as_they_are()
            elif record.was_left:
                files = files.with_own_edits(record.folder / LEFT)
            files.keep(record.folder / NOTE)
            return files
        files = now.as_they_are()
        if files.begun and (
            run_id := last_unaccepted(
                record.database, record.database_file, root.workspace, besides=record.run_id
            )
        ):
            earlier = record.folder.parent / run_id
            files = files.before(earlier / NOTE, earlier / LEFT)
    files.keep(record.folder / NOTE)
    return files
