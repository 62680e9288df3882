"""Runs a command-line coding agent again and again until the work is verifiably done.

Everything a program needs is importable from here and loaded on first use: ``import ralph`` costs next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

# Type checkers know this name; importing `typing` for it would double the time of `ralph --version`.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from ralph.adapters.storage.claims import ModeCheck
    from ralph.adapters.storage.state_files import StateLocation
    from ralph.config.loading import load as load_settings
    from ralph.config.root import find_root
    from ralph.domain.holder import Mode
    from ralph.domain.loop.assignment import Assignment, Blocked, Drained
    from ralph.domain.loop.budget import Budget
    from ralph.domain.loop.claims import Claim, Signal
    from ralph.domain.loop.decision import Acceptance, Outcome, Rules, decide
    from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
    from ralph.domain.loop.feedback import Feedback, Placement
    from ralph.domain.loop.session_report import AgentReport, Hindrance, Spend
    from ralph.domain.loop.state import LoopState
    from ralph.domain.promise.loop_state import (
        COMPLETION_TAG_PATTERN,
        CONTINUATION_PROMPT,
        DEFAULT_COMPLETION_PROMISE,
        DEFAULT_MAX_ITERATIONS,
        RALPH_LOOP_STATE_FILE,
        RalphLoopConfig,
        RalphLoopState,
        build_continuation_prompt,
        detect_completion,
        escape_regex,
        increment_iteration,
    )
    from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec, VerificationMethod
    from ralph.domain.tasks.task import Task, TaskBudget, TaskStatus
    from ralph.engine.loop import RunResult, run_loop
    from ralph.engine.parts import LoopParts
    from ralph.engine.ports import Check, Judging, When
    from ralph.engine.stop_token import StopToken
    from ralph.engine.tasks.ports import MethodVerdict, VerificationTools, Verifying
    from ralph.errors import RalphError, WorkspaceBusy
    from ralph.operations.modes import can_start_mode, end_mode, start_mode
    from ralph.operations.promise_loop import (
        clear_ralph_loop_state,
        end_ralph_loop,
        is_ralph_loop_active,
        read_ralph_loop_state,
        start_ralph_loop,
        write_ralph_loop_state,
    )
    from ralph.operations.states import StateManager
    from ralph.operations.supervise import supervise
    from ralph.wiring.assembly import assemble
    from ralph.wiring.launch import Launch
    from ralph.wiring.runs.prompt_run import Prompt, prepare_run

    Plan, plan_run, assembled = Launch, prepare_run, assemble

_HOMES = {
    "ralph.adapters.storage.claims": "ModeCheck",
    "ralph.adapters.storage.state_files": "StateLocation",
    "ralph.config.loading": "load_settings",
    "ralph.config.root": "find_root",
    "ralph.domain.loop.assignment": "Assignment Blocked Drained",
    "ralph.domain.loop.budget": "Budget",
    "ralph.domain.holder": "Mode",
    "ralph.domain.loop.decision": "Acceptance Outcome Rules decide",
    "ralph.domain.loop.evidence": "CheckResult Evidence Verdict",
    "ralph.domain.loop.feedback": "Feedback Placement",
    "ralph.domain.promise.loop_state": (
        "COMPLETION_TAG_PATTERN CONTINUATION_PROMPT DEFAULT_COMPLETION_PROMISE "
        "DEFAULT_MAX_ITERATIONS RALPH_LOOP_STATE_FILE RalphLoopConfig RalphLoopState "
        "build_continuation_prompt detect_completion escape_regex increment_iteration"
    ),
    "ralph.domain.loop.claims": "Claim Signal",
    "ralph.domain.loop.session_report": "AgentReport Hindrance Spend",
    "ralph.domain.loop.state": "LoopState",
    "ralph.domain.tasks.completion": "CompletionCriteria TaskCompletionSpec VerificationMethod",
    "ralph.domain.tasks.task": "Task TaskBudget TaskStatus",
    "ralph.engine.loop": "RunResult run_loop",
    "ralph.engine.parts": "LoopParts",
    "ralph.engine.ports": "Check Judging When",
    "ralph.engine.stop_token": "StopToken",
    "ralph.engine.tasks.ports": "MethodVerdict VerificationTools Verifying",
    "ralph.errors": "RalphError WorkspaceBusy",
    "ralph.operations.modes": "can_start_mode end_mode start_mode",
    "ralph.operations.promise_loop": (
        "clear_ralph_loop_state end_ralph_loop is_ralph_loop_active read_ralph_loop_state "
        "start_ralph_loop write_ralph_loop_state"
    ),
    "ralph.operations.states": "StateManager",
    "ralph.operations.supervise": "supervise",
    "ralph.wiring.assembly": "assemble",
    "ralph.wiring.launch": "Launch",
    "ralph.wiring.runs.prompt_run": "Prompt prepare_run",
}
"""Module → the public names it defines."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_CALLED_THERE = {"load_settings": "load"}
_DEPRECATED = {"Plan": "Launch", "assembled": "assemble", "plan_run": "prepare_run"}
"""Old name → the name to use instead."""

__all__ = [
    "COMPLETION_TAG_PATTERN",
    "CONTINUATION_PROMPT",
    "DEFAULT_COMPLETION_PROMISE",
    "DEFAULT_MAX_ITERATIONS",
    "RALPH_LOOP_STATE_FILE",
    "Acceptance",
    "AgentReport",
    "Assignment",
    "Blocked",
    "Budget",
    "Check",
    "CheckResult",
    "Claim",
    "CompletionCriteria",
    "Drained",
    "Evidence",
    "Feedback",
    "Hindrance",
    "Judging",
    "Launch",
    "LoopParts",
    "LoopState",
    "MethodVerdict",
    "Mode",
    "ModeCheck",
    "Outcome",
    "Placement",
    "Prompt",
    "RalphError",
    "RalphLoopConfig",
    "RalphLoopState",
    "Rules",
    "RunResult",
    "Signal",
    "Spend",
    "StateLocation",
    "StateManager",
    "StopToken",
    "Task",
    "TaskBudget",
    "TaskCompletionSpec",
    "TaskStatus",
    "Verdict",
    "VerificationMethod",
    "VerificationTools",
    "Verifying",
    "When",
    "WorkspaceBusy",
    "__version__",
    "assemble",
    "build_continuation_prompt",
    "can_start_mode",
    "clear_ralph_loop_state",
    "decide",
    "detect_completion",
    "end_mode",
    "end_ralph_loop",
    "escape_regex",
    "find_root",
    "increment_iteration",
    "is_ralph_loop_active",
    "load_settings",
    "prepare_run",
    "read_ralph_loop_state",
    "run_loop",
    "start_mode",
    "start_ralph_loop",
    "supervise",
    "write_ralph_loop_state",
]


def __getattr__(name: str) -> object:
    if name in _DEPRECATED:
        import warnings

        warnings.warn(
            f"ralph.{name} is deprecated: use ralph.{_DEPRECATED[name]}", DeprecationWarning, stacklevel=2
        )
        return __getattr__(_DEPRECATED[name])
    if name not in _HOME_OF:
        message = f"module 'ralph' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = getattr(import_module(_HOME_OF[name]), _CALLED_THERE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
