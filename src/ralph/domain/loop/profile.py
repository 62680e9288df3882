"""A profile: which claim and which proof a loop needs. Data only; the values are in ``profiles/*.json``."""

from __future__ import annotations

from ralph.domain.loop.decision import Acceptance
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The values of one ``profiles/<name>.json``."""

    name: str
    summary: str
    run: str  # the module of ``wiring/runs`` that prepares a run of it
    tag: str
    first_tag_decides: bool
    acceptance: Acceptance
    faults_count: bool = False
    restart_delay: float = 0.0
    prompt: str = "as_given"  # the style of its prompts
    notices_standstill: bool = True  # iterations that change nothing end the run
    command: str = "ralph run"  # the command that starts a run
    uses_scm: bool = False  # applies the setting scm to proven work
    own_guardrails: bool = False  # has its own list instead of the common one
    sandbox: str = "none"  # the default for its agent
    delivers: bool = False  # accepted work can become a pull request
    answers: bool = False  # what it ends with is printed on stdout; until then, what the agent says is talk
    limit: str = "maximumIterations"  # the setting that limits its launches; empty: there is none
