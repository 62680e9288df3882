"""The protocols of model APIs, one per module; ``ALL`` in the order in which a path is tried."""

from __future__ import annotations

from typing import Final

from ralph.testing.model.protocols.anthropic import AnthropicMessages
from ralph.testing.model.protocols.chat import OpenAIChat
from ralph.testing.model.protocols.gemini import Gemini
from ralph.testing.model.protocols.protocol import Protocol
from ralph.testing.model.protocols.responses import OpenAIResponses

ALL: Final[tuple[Protocol, ...]] = (AnthropicMessages(), OpenAIResponses(), OpenAIChat(), Gemini())
