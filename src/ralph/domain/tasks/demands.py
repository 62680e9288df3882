"""What a task asks of whoever works on it: the commands that verify it, and what they let pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ralph.domain.tasks.completion import VerificationMethod
from ralph.domain.tasks.task import Task
from ralph.domain.trust.demand import Demand

_MEANINGS = {
    "command": "runs",
    "template": "runs the template",
    "may_change": "lets the agent change the proof in",
    "mayChange": "lets the agent change the proof in",
    "allow_empty": "lets a check pass even if no test ran",
    "allowEmpty": "lets a check pass even if no test ran",
    "rerun": "lets a check pass that failed at first",
}


def task_demands(tasks: Iterable[Task]) -> tuple[Demand, ...]:
    """Each once, however many tasks ask for it."""
    found = (demand for task in tasks for demand in _of_task(task))
    return tuple({(one.key, repr(one.value)): one for one in found}.values())


def _of_task(task: Task) -> Iterator[Demand]:
    spec = task.completion_spec
    for criteria in spec.criteria.values() if spec is not None else ():
        yield from _of_method(criteria.verification_method, task)
        yield from _of_config(criteria.verification_config, task)


def _of_method(method: object, task: Task) -> Iterator[Demand]:
    if isinstance(method, str) and method not in ("", *VerificationMethod):
        yield Demand("verifies with Python code from", str(method), "verification", f"task {task.id}")


def _of_config(config: Mapping[str, object], task: Task) -> Iterator[Demand]:
    for key, value in config.items():
        if key in _MEANINGS and value:
            yield Demand(_MEANINGS[key], value, f"verification_config.{key}", f"task {task.id}")
        elif key == "stages" and isinstance(value, list):
            for stage in value:
                if isinstance(stage, Mapping):
                    yield from _of_method(stage.get("method"), task)
                    inner = stage.get("config")
                    yield from _of_config(inner if isinstance(inner, Mapping) else {}, task)
