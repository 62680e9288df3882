"""Settings of agents that a user defines: ``agents.<name>``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from ralph.agent_names import ACP, known_agents
from ralph.config.kinds import (
    Choice,
    ListOf,
    Named,
    Nullable,
    Program,
    Reading,
    Table,
    Text,
    Variables,
    setting,
)
from ralph.domain.agent.definition import OLDER_OUTPUT_WORDS, TEXT, PromptWay
from ralph.domain.agent.options import Isolation, Permissions
from ralph.patterns import pattern
from ralph.values import dataclass, replace

ADAPTERS: Final = known_agents()
_OUTPUTS: Final = (TEXT, *(name for name in ADAPTERS if name != ACP))

_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class DefinedAgentSettings:
    """Your own agent: use its name as `agent.command`, as a fallback, or with `--agent`."""

    command: str = setting(
        Program(filled=True),
        "",
        "Its program, by name or path; a relative path starts at the project's root. With `adapter: acp` its arguments"
        " may follow: `goose acp`.",
        required=True,
        means="runs",
    )
    flags: tuple[str, ...] = setting(
        ListOf(Text(), of="strings", shell_words=True),
        (),
        "Its arguments, split as a shell would. `{prompt}`, `{prompt_file}` and `{model}` are replaced.",
        means="runs the agent with",
    )
    adapter: str | None = setting(
        Nullable(Choice(*ADAPTERS)),
        None,
        "Start it and read its output like this agent; null: as `prompt` and `output` say.",
        means="drives the agent like",
        says={None: "drives the agent as its name suggests"},
    )
    prompt: PromptWay | None = setting(
        Nullable(Choice(*PromptWay)),
        None,
        "How it gets the prompt: on stdin, as an argument, or as the path of a file. An argument or path comes last"
        " unless a placeholder in `flags` says where. null: stdin.",
        means="gives the agent the prompt as",
        says={"stdin": "gives the agent the prompt on stdin", None: "gives the agent the prompt on stdin"},
    )
    output: str | None = setting(
        Nullable(Choice(*_OUTPUTS, also=OLDER_OUTPUT_WORDS)),
        None,
        "What it prints: text, or the events of an agent that ralph knows, by its name. null: text.",
        means="reads the agent's output as",
        says={None: "reads the agent's output as text"},
    )
    model: str = setting(
        Text(),
        "",
        "The model to use; empty: its own choice.",
        means="uses the model",
        says={"": "lets the agent choose the model"},
    )
    isolation: Isolation | None = setting(
        Nullable(Choice(*Isolation)),
        None,
        "As `agent.isolation`, for this agent; it needs an `adapter`. null: as `agent.isolation` says.",
        means="starts the agent as",
        says={None: "starts the agent as agent.isolation says"},
    )
    permissions: Permissions | None = setting(
        Nullable(Choice(*Permissions)),
        None,
        "With `adapter: acp`: what it gets when it asks for permission: all that it asks for, to read and search only,"
        " or nothing. null: allow.",
        means="permits the agent",
        says={None: "permits the agent whatever it asks for"},
    )
    environment: Mapping[str, str] = setting(
        Variables(),
        {},
        "Variables added to its environment. Keep secrets in settings.local.json.",
        means="gives the agent the variables",
    )


class Definitions(Named[DefinedAgentSettings]):
    """Agents by the names that a user chose."""

    def __init__(self) -> None:
        super().__init__(Table(DefinedAgentSettings))

    def read(self, value: object, at: Reading) -> Mapping[str, DefinedAgentSettings]:
        read = super().read(value, at)
        if not isinstance(value, Mapping):
            return read
        for name in filter(read.__contains__, value):  # not what cannot be a name
            _check(name, read[name], at.inside(name))
        return {name: _with_split_command(own, at.inside(name)) for name, own in read.items()}


def _check(name: str, definition: DefinedAgentSettings | None, at: Reading) -> None:
    if name in ADAPTERS:
        at.wrong("is the name of an agent that ralph knows", "choose another name for yours")
    elif not _NAME.fullmatch(name):
        at.wrong("is not a valid name for an agent", "use letters, digits, - _ and .")
    if definition is not None and definition.adapter and (definition.prompt or definition.output):
        at.wrong("has an adapter as well as a prompt or output", "remove them: the adapter knows both")
    if definition is not None and definition.permissions and definition.adapter != ACP:
        at.wrong("has permissions, but not the adapter acp", "remove them: other agents get theirs by flags")


def _with_split_command(definition: DefinedAgentSettings | None, at: Reading) -> DefinedAgentSettings:
    """The command of an ACP agent is the program and what makes it speak ACP; from here on the program alone."""
    if definition is None or definition.adapter != ACP or not definition.command:
        return cast("DefinedAgentSettings", definition)  # None: it was wrong, and that is noted
    import shlex

    try:
        program, *arguments = shlex.split(definition.command)
    except ValueError as error:
        at.wrong(f"has a command that cannot be split: {str(error).lower()}", "close the quote, or escape it")
        return definition
    return replace(definition, command=program, flags=(*map(shlex.quote, arguments), *definition.flags))
