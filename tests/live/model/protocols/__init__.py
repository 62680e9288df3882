"""The protocols of model APIs, one per module; ``ALL`` in the order in which a path is tried."""

from __future__ import annotations

from typing import Final

from tests.live.model.protocols.anthropic import AnthropicMessages
from tests.live.model.protocols.chat import OpenAIChat
from tests.live.model.protocols.gemini import Gemini
from tests.live.model.protocols.protocol import Protocol
from tests.live.model.protocols.responses import OpenAIResponses

ALL: Final[tuple[Protocol, ...]] = (AnthropicMessages(), OpenAIResponses(), OpenAIChat(), Gemini())
