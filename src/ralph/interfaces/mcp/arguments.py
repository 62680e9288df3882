"""What each tool takes, and nothing else: the allow-list by which a model can start and ask for things.

The schema that clients get and the check of what they send are made of the same classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import LAST
from ralph.errors import UsageError
from ralph.operations.runs.background import LONGEST_PROMPT

LONGEST_WAIT = 50
"""Seconds: clients give a tool a minute."""
MOST_ROWS = 50

Run = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="A run's id, its beginning or end, `last` for the newest run, or a task's id for its newest run.",
    ),
]
TaskId = Annotated[str, Meta(min_length=1, max_length=64, description="The task's id.")]
Line = Annotated[str, Meta(min_length=1, max_length=500)]
Text = Annotated[str, Meta(max_length=LONGEST_PROMPT)]
Limit = Annotated[int, Meta(ge=1, le=MOST_ROWS, description="At most so many.")]
Count = Annotated[int, Meta(ge=1, le=10**12)]
Amount = Annotated[float, Meta(gt=0, le=10**9)]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Of one tool."""


class Start(Arguments, frozen=True):
    kind: Annotated[
        Literal["run", "work", "plan", "supervise"],
        Meta(
            description="run: the prompt again and again until it is proven done; work: the project's tasks; plan: the"
            " project's plan, story by story; supervise: an agent that is restarted until it writes its DONE file."
        ),
    ]
    prompt: Annotated[
        Text,
        Meta(description="What the agent should do; required for run and supervise, and only for those."),
    ] = ""
    tasks: Annotated[
        tuple[TaskId, ...],
        Meta(max_length=50, description="For work: these tasks; none: whatever is ready."),
    ] = ()
    max_iterations: Annotated[
        Count | UnsetType, Meta(description="Stop after so many sessions; at most what the settings allow.")
    ] = UNSET
    max_cost: Annotated[
        Amount | UnsetType,
        Meta(description="Stop at this cost in US dollars; at most what the settings allow."),
    ] = UNSET
    max_tokens: Annotated[
        Count | UnsetType, Meta(description="Stop after so many tokens; at most what the settings allow.")
    ] = UNSET
    max_seconds: Annotated[
        Amount | UnsetType, Meta(description="Stop after so many seconds; at most what the settings allow.")
    ] = UNSET


class Runs(Arguments, frozen=True):
    state: Annotated[
        Literal[
            "running", "paused", "waiting", "interrupted", "completed", "exhausted", "cancelled", "failed"
        ]
        | UnsetType,
        Meta(description="Only those; exhausted: a limit was reached."),
    ] = UNSET
    limit: Limit = 20


class Show(Arguments, frozen=True):
    run: Run = LAST
    iterations: Annotated[int, Meta(ge=1, le=20, description="How many of the newest to show.")] = 5


class Logs(Arguments, frozen=True):
    run: Run = LAST
    after: Annotated[
        Annotated[int, Meta(ge=0, le=2**62)] | UnsetType,
        Meta(description="Only what came after this `cursor`; left out: the newest."),
    ] = UNSET
    wait: Annotated[
        float, Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait at most while the run is under way.")
    ] = 0.0
    until: Annotated[
        Literal["news", "end"],
        Meta(description="What to wait for: anything that happens, or the end of the run."),
    ] = "news"
    detail: Annotated[
        Literal["loop", "all"],
        Meta(description="loop: sessions, checks and decisions; all: the agent's own words and tools too."),
    ] = "loop"
    limit: Limit = 50


class Steer(Arguments, frozen=True):
    text: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_PROMPT, description="What the agent should know.")
    ]
    run: Run = LAST


class Stop(Arguments, frozen=True):
    run: Run
    now: Annotated[
        bool, Meta(description="End the agent at once; otherwise its current step finishes first.")
    ] = False


class OneRun(Arguments, frozen=True):
    run: Run


class Tasks(Arguments, frozen=True):
    status: Annotated[
        Literal["open", "accepted", "done", "failed", "cancelled"] | UnsetType,
        Meta(description="Only those."),
    ] = UNSET
    limit: Limit = 50


class AddTask(Arguments, frozen=True):
    id: Annotated[TaskId, Meta(description="Its name, such as TASK-7.")]
    title: Annotated[Line, Meta(description="One line.")]
    outcome: Annotated[
        Line, Meta(description="One sentence: what is measurably different when the task is done.")
    ]
    acceptance: Annotated[
        tuple[Line, ...], Meta(min_length=1, max_length=50, description="What can be checked, one by one.")
    ]
    description: Text = ""
    depends_on: Annotated[
        tuple[TaskId, ...], Meta(max_length=50, description="Tasks that must be done before.")
    ] = ()
    priority: Annotated[
        Annotated[int, Meta(ge=0, le=10**6)] | UnsetType, Meta(description="Smaller is more urgent.")
    ] = UNSET


class OneTask(Arguments, frozen=True):
    id: TaskId


A = TypeVar("A", bound=Arguments)


def schema_of(kind: type[Arguments]) -> dict[str, Any]:
    """As JSON Schema: one object, without references."""
    _, parts = msgspec.json.schema_components([kind])
    whole = parts[kind.__name__]
    properties = {name: _typed(of) for name, of in whole["properties"].items()}
    required = whole["required"]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _typed(of: dict[str, Any]) -> dict[str, Any]:
    """Some clients want the type of a choice too."""
    return {"type": "string", **of} if "enum" in of else of


def read_arguments(kind: type[A], given: Mapping[str, Any] | None) -> A:
    """Raises UsageError that says which argument is wrong. Models write null for what they leave out."""
    meant = {name: value for name, value in (given or {}).items() if value is not None}
    try:
        return msgspec.convert(meant, kind)
    except msgspec.ValidationError as error:
        said = clean_line(str(error))
        known = schema_of(kind)["properties"]
        choices = next(
            (of["enum"] for name, of in known.items() if f"`$.{name}`" in said and "enum" in of), ()
        )
        hint = f"choose one of: {', '.join(choices)}" if choices else f"its arguments are: {', '.join(known)}"
        raise UsageError(said, hint=hint) from None
