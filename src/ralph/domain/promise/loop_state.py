"""The promise loop: its state, its promise and its prompts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.prompt import compose, fill
from ralph.patterns import pattern
from ralph.values import dataclass, field, replace

DEFAULT_MAX_ITERATIONS = 100
DEFAULT_COMPLETION_PROMISE = "DONE"
RALPH_LOOP_STATE_FILE = "ralph-loop"
"""The name of its state file, without the extension."""

COMPLETION_TAG_PATTERN: re.Pattern[str] = pattern(r"<promise>(.*?)</promise>", re.IGNORECASE | re.DOTALL)
"""The first promise in a text, whatever it says."""

CONTINUATION_PROMPT = """Ralph loop, iteration {{ITERATION}}/{{MAX}}.

Your previous attempt did not output the completion promise. Continue working on the task:
- Review your progress so far.
- Continue from where you left off.
- When the task is FULLY complete, output: <promise>{{PROMISE}}</promise>
- Do not stop until the task is truly done.

Original task:
{{PROMPT}}"""

NO_PROMISE = "Your previous attempt did not output the completion promise."
NOT_ACCEPTED = "Your previous attempt was not accepted; why is said in this prompt."

_SPECIAL: re.Pattern[str] = pattern(r"[.*+?^${}()|\[\]\\]")


@dataclass(frozen=True, slots=True)
class RalphLoopState:
    """``iteration`` counts from 1; ``started_at`` is ISO 8601."""

    active: bool
    iteration: int
    max_iterations: int
    completion_promise: str
    started_at: str
    prompt: str
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)  # other keys of the file, kept


@dataclass(frozen=True, slots=True)
class RalphLoopConfig:
    """None is the default."""

    max_iterations: int | None = None
    completion_promise: str | None = None


def new_state(prompt: str, config: RalphLoopConfig, *, started_at: str) -> RalphLoopState:
    maximum, promise = config.max_iterations, config.completion_promise
    return RalphLoopState(
        active=True,
        iteration=1,
        max_iterations=DEFAULT_MAX_ITERATIONS if maximum is None else maximum,
        completion_promise=DEFAULT_COMPLETION_PROMISE if promise is None else promise,
        started_at=started_at,
        prompt=prompt,
    )


def config_problem(config: RalphLoopConfig) -> str | None:
    """What would make a loop end at once or never, if anything."""
    if config.max_iterations is not None and config.max_iterations < 1:
        return f"max_iterations must be 1 or more, not {config.max_iterations}"
    if config.completion_promise is not None and not config.completion_promise.strip():
        return "completion_promise must not be empty"
    return None


def increment_iteration(state: RalphLoopState) -> RalphLoopState:
    return replace(state, iteration=state.iteration + 1)


def escape_regex(text: str) -> str:
    """``text`` as a pattern that matches nothing but itself."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def detect_completion(text: str, promise: str) -> bool:
    """Whether any ``<promise>`` in the text says this, ignoring case and surrounding white space.

    Pass only what the assistant said: prompts and tool output contain the tag without promising anything.
    """
    wanted = promise.strip()
    if not wanted:
        return False
    # ASCII: without it IGNORECASE lets a long s (U+017F) match "s", and the tag would not be ours.
    pattern = rf"(?a:<promise>)\s*{escape_regex(wanted)}\s*(?a:</promise>)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def build_continuation_prompt(state: RalphLoopState) -> str:
    promise, maximum = state.completion_promise, state.max_iterations
    return continuation_prompt(state.prompt, promise=promise, iteration=state.iteration, maximum=maximum)


def continuation_prompt(
    task: str, *, promise: str, iteration: int, maximum: int | None, why: str = NO_PROMISE
) -> str:
    """Every value literally: a task that contains ``{{MAX}}`` comes out unchanged."""
    values = {
        "ITERATION": str(iteration),
        "MAX": str(maximum) if maximum is not None else "unlimited",
        "PROMISE": promise,
        "PROMPT": task,
    }
    return fill(CONTINUATION_PROMPT.replace(NO_PROMISE, why), values)


@dataclass(frozen=True, slots=True)
class ContinuationStyle:
    """A ``PromptStyle``: the task first, the continuation later. An assignment's own promise wins."""

    promise: str

    def __call__(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str:
        if iteration == 1:
            return compose(assignment.objective, feedback)
        promise, task = assignment.promise or self.promise, assignment.objective
        is_denied = any(not item.is_history for item in feedback)  # a denied promise was given
        why = NOT_ACCEPTED if is_denied else NO_PROMISE
        base = continuation_prompt(task, promise=promise, iteration=iteration, maximum=maximum, why=why)
        return compose(base, feedback)


# --- as a document -----------------------------------------------------------------------------------------

_FIELDS: dict[str, tuple[str, type]] = {
    "active": ("active", bool),
    "iteration": ("iteration", int),
    "maxIterations": ("max_iterations", int),
    "completionPromise": ("completion_promise", str),
    "startedAt": ("started_at", str),
    "prompt": ("prompt", str),
}
_TYPE_NAMES = {bool: "true or false", int: "a whole number", str: "a text"}


def state_to_document(state: RalphLoopState) -> dict[str, object]:
    """Our own keys first, then the other keys of the file."""
    known: dict[str, object] = {key: getattr(state, name) for key, (name, _) in _FIELDS.items()}
    return known | {key: value for key, value in state.extra.items() if key not in known}


def state_from_document(document: object) -> tuple[RalphLoopState | None, tuple[str, ...]]:
    """The state, or None and what is wrong with it. Never raises."""
    if not isinstance(document, dict):
        return None, ("it is not a JSON object",)
    problems = tuple(
        f"{key} must be {_TYPE_NAMES[kind]}" if key in document else f"{key} is missing"
        for key, (_, kind) in _FIELDS.items()
        if type(document.get(key)) is not kind  # not isinstance: to Python, true is a number
    )
    if problems:
        return None, problems
    known = {name: document[key] for key, (name, _) in _FIELDS.items()}
    others = {key: value for key, value in document.items() if key not in _FIELDS}
    return RalphLoopState(**known, extra=others), ()
