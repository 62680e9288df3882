"""Runs a command-line coding agent again and again until the work is verifiably done.

Everything a program needs is importable from here and loaded when it is first asked for, so that
``import ralph`` (and ``ralph --version``) stays as cheap as importing nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

# Type checkers know this name; importing `typing` for it would cost as much as all the rest of `ralph --version`.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from ralph.config.loading import load as load_settings
    from ralph.config.root import find_root
    from ralph.domain.assignment import Assignment, Blocked, Drained
    from ralph.domain.budget import Budget
    from ralph.domain.decision import Acceptance, Outcome, Rules, decide
    from ralph.domain.evidence import CheckResult, Evidence, Verdict
    from ralph.domain.feedback import Feedback, Placement
    from ralph.domain.signals import Claim, Signal
    from ralph.domain.state import LoopState
    from ralph.engine.loop import RunResult, run_loop
    from ralph.engine.parts import LoopParts
    from ralph.engine.ports import Judging, When
    from ralph.engine.stopping import StopToken
    from ralph.errors import RalphError
    from ralph.wiring import Plan, Prompt, assembled, plan_run

_HOMES = {
    "ralph.config.loading": ("load_settings",),
    "ralph.config.root": ("find_root",),
    "ralph.domain.assignment": ("Assignment", "Blocked", "Drained"),
    "ralph.domain.budget": ("Budget",),
    "ralph.domain.decision": ("Acceptance", "Outcome", "Rules", "decide"),
    "ralph.domain.evidence": ("CheckResult", "Evidence", "Verdict"),
    "ralph.domain.feedback": ("Feedback", "Placement"),
    "ralph.domain.signals": ("Claim", "Signal"),
    "ralph.domain.state": ("LoopState",),
    "ralph.engine.loop": ("RunResult", "run_loop"),
    "ralph.engine.parts": ("LoopParts",),
    "ralph.engine.ports": ("Judging", "When"),
    "ralph.engine.stopping": ("StopToken",),
    "ralph.errors": ("RalphError",),
    "ralph.wiring": ("Plan", "Prompt", "assembled", "plan_run"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_CALLED_THERE = {"load_settings": "load"}

__all__ = [
    "Acceptance",
    "Assignment",
    "Blocked",
    "Budget",
    "CheckResult",
    "Claim",
    "Drained",
    "Evidence",
    "Feedback",
    "Judging",
    "LoopParts",
    "LoopState",
    "Outcome",
    "Placement",
    "Plan",
    "Prompt",
    "RalphError",
    "Rules",
    "RunResult",
    "Signal",
    "StopToken",
    "Verdict",
    "When",
    "__version__",
    "assembled",
    "decide",
    "find_root",
    "load_settings",
    "plan_run",
    "run_loop",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        message = f"module 'ralph' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = getattr(import_module(_HOME_OF[name]), _CALLED_THERE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
