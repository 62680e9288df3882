"""An agent that a user defined in the settings: its program, and how to talk to it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from ralph.domain.agent.options import Isolation, Permissions
from ralph.values import dataclass, field

TEXT: Final = "text"
OLDER_OUTPUT_WORDS: Final = (
    "claude-stream", "codex-json", "gemini-json", "opencode-json", "qwen-stream", "copilot-json",
)  # fmt: skip
"""What older settings call the output of some agents; now the agent's name alone."""


class PromptWay(StrEnum):
    """How the prompt reaches the program."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"  #: the path of a file with the prompt, as an argument


def speaker_of(output: str) -> str:
    """The agent whose events a program prints, from the word in the settings; empty for text."""
    return "" if output == TEXT else output.partition("-")[0] if output in OLDER_OUTPUT_WORDS else output


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """``adapter``: the known agent that it is started and read like. Without one, ``prompt`` says how to start it, and
    ``speaks`` names the agent whose events it prints (empty: text). ``flags`` are already split."""

    name: str
    command: str
    flags: tuple[str, ...] = ()
    adapter: str = ""
    prompt: PromptWay = PromptWay.STDIN
    speaks: str = ""
    model: str = ""
    isolation: Isolation | None = None  # None: as for the others
    permissions: Permissions | None = None  # None: whatever it asks for
    environment: Mapping[str, str] = field(default_factory=dict)
