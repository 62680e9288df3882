"""A profile: which claim and which proof a loop needs. Data only; ``profiles/*.toml`` hold the values."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.domain.loop.decision import Acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The values of one ``profiles/<name>.toml``."""

    name: str
    summary: str
    run: str  # the module of ``wiring/runs`` that prepares a run of it
    tag: str
    first_tag_decides: bool
    acceptance: Acceptance
    faults_count: bool = False
    restart_delay: float = 0.0
    prompt: str = "as_given"  # how it words its prompts
    notices_standstill: bool = True  # iterations that change nothing end the run
    command: str = "ralph run"  # that starts one
    uses_scm: bool = False  # runs the tasks of the setting scm on proven work
    own_guardrails: bool = False  # has a list of its own instead of the common one
    sandbox: str = "none"  # where its agent is confined to, if nobody says anything else
    limit: str = "maximumIterations"  # the setting that limits how often the agent is launched
