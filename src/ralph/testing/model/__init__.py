"""A model API on loopback that plays a script: real agents run on it without an account and without a network.

It speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini. Standard library only.

    with ScriptedModel([Step(shell="make"), Step(text="done")]) as model:
        run_the_agent(ANTHROPIC_BASE_URL=model.url)
        assert "the task" in model.requests[0].text
"""

from __future__ import annotations

from ralph.testing.model.request import Request
from ralph.testing.model.script import Step, StreamError, ToolCall, Usage, WriteFile
from ralph.testing.model.server import ScriptedModel

__all__ = ["Request", "ScriptedModel", "Step", "StreamError", "ToolCall", "Usage", "WriteFile"]
