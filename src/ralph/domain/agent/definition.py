"""An agent that a user described in the settings: which program it is, and how to talk to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class PromptWay(StrEnum):
    """How the prompt reaches the program."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"  #: the path of a file that holds it, as an argument


class OutputFormat(StrEnum):
    """What the program prints: text, or the events of an agent that ralph knows."""

    TEXT = "text"
    CLAUDE_STREAM = "claude-stream"
    CODEX_JSON = "codex-json"
    GEMINI_JSON = "gemini-json"
    OPENCODE_JSON = "opencode-json"
    QWEN_STREAM = "qwen-stream"
    COPILOT_JSON = "copilot-json"

    @property
    def agent(self) -> str:
        """Whose events they are; empty for text."""
        return "" if self is OutputFormat.TEXT else self.value.partition("-")[0]


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """``adapter`` names an agent that ralph knows and that this one is started like; else ``prompt`` and ``output`` say how.

    ``flags`` are arguments already split.
    """

    name: str
    command: str
    flags: tuple[str, ...] = ()
    adapter: str = ""
    prompt: PromptWay = PromptWay.STDIN
    output: OutputFormat = OutputFormat.TEXT
    model: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
