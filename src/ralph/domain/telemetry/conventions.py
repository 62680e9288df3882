"""Names of OpenTelemetry's conventions for generative AI (status: development), as of semantic conventions 1.44."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from ralph.domain.agent.events import Usage

OPERATION: Final = "gen_ai.operation.name"
INVOKE_WORKFLOW: Final = "invoke_workflow"
INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
PROVIDER_NAME: Final = "gen_ai.provider.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 (a name)
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
ERROR_TYPE: Final = "error.type"
TOKEN_USAGE: Final = "gen_ai.client.token.usage"  # noqa: S105 (a name)
OPERATION_DURATION: Final = "gen_ai.client.operation.duration"

_PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""By the beginning of the agent's name. The conventions know no name for whoever the others ask."""


def provider_of(agent: str) -> str:
    """Whose service an agent uses, as far as its name tells; else the agent's own name, as the conventions allow."""
    return next((name for start, name in _PROVIDERS.items() if agent.startswith(start)), agent)


def usage_attributes(usage: Usage) -> Mapping[str, int]:
    """The conventions count what came from a cache, or was written to one, as input too; ralph does not."""
    if not usage.total:
        return {}
    return {
        INPUT_TOKENS: usage.total - usage.output_tokens,
        OUTPUT_TOKENS: usage.output_tokens,
        CACHE_READ_TOKENS: usage.cache_read_tokens,
        CACHE_CREATION_TOKENS: usage.cache_write_tokens,
    }


def message(role: str, text: str) -> str:
    """One message, in the conventions' JSON."""
    said: dict[str, object] = {"role": role, "parts": [{"type": "text", "content": text}]}
    if role == "assistant":
        said["finish_reason"] = "stop"
    return json.dumps([said], ensure_ascii=False)
