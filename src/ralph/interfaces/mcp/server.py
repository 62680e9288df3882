"""Speaks MCP on standard input and output until that closes, or until a signal. Nothing else may be printed there."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as OfferedTool

from ralph import __version__
from ralph.domain.text.masking import mask_text
from ralph.domain.text.safe_text import clean
from ralph.errors import RalphError, UsageError
from ralph.interfaces.mcp.answers import Answer
from ralph.interfaces.mcp.arguments import read_arguments, schema_of
from ralph.interfaces.mcp.tools import TOOLS, ProjectTools, Tool
from ralph.operations.projects import Project

LONGEST_ERROR = 4_000
INSTRUCTIONS = """ralph runs a coding agent in a loop until the project's own checks prove the work done. Start a loop with \
`start`, or give it tasks with `add_task` and start the kind work. Then wait with `logs` (wait 50, until end, \
again and again), and judge the result with `show`. A run continues when this session ends. Limits can only be tightened, and \
what the user has not agreed to is refused: ask them, do not work around it."""


def serve(project: Project, *, read_only: bool = False) -> None:
    """Returns when the client has closed its end."""
    logging.disable()  # the SDK would print tracebacks of what clients send
    try:
        asyncio.run(_serve(project, read_only=read_only))
    except* BrokenPipeError:
        pass  # the client is gone: there is nobody to tell


async def _serve(project: Project, *, read_only: bool) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # At once: the SDK reads in a thread that no cancellation ends, and nothing is left to write.
        asyncio.get_running_loop().add_signal_handler(number, os._exit, 0)
    tools = ProjectTools(project)
    offered = {tool.name: tool for tool in TOOLS if not (read_only and tool.changes)}
    server = _make_server(tools, offered)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
    await tools.close()


def _make_server(tools: ProjectTools, offered: dict[str, Tool]) -> Server[dict[str, Any]]:
    listed = ListToolsResult(tools=[_describe(tool) for tool in offered.values()])

    async def list_tools(_: ServerRequestContext, __: PaginatedRequestParams | None) -> ListToolsResult:
        return listed

    async def call_tool(_: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        try:
            return _result(await _call(tools, offered, params))
        except RalphError as error:
            return _refusal(f"{error.message}\n{error.hint}".strip())
        except Exception as error:
            return _refusal(f"Internal error ({type(error).__name__}); please report it.")

    return Server(
        "ralph",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call(tools: ProjectTools, offered: dict[str, Tool], params: CallToolRequestParams) -> Answer:
    tool = offered.get(params.name)
    if tool is None:
        message = f"there is no tool {params.name[:100]!r} here"
        raise UsageError(message, hint=f"the tools are: {', '.join(offered)}")
    return await tool.call(tools, read_arguments(tool.takes, params.arguments))


def _describe(tool: Tool) -> OfferedTool:
    hints = ToolAnnotations(
        read_only_hint=not tool.changes,
        destructive_hint=tool.ends,
        idempotent_hint=not tool.changes or tool.ends,
        open_world_hint=tool.changes and not tool.ends,
    )
    return OfferedTool(
        name=tool.name, description=tool.description, input_schema=schema_of(tool.takes), annotations=hints
    )


def _result(answer: Answer) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text)], structured_content=answer.data
    )


def _refusal(text: str) -> CallToolResult:
    told = clean(mask_text(text[:LONGEST_ERROR]))
    return CallToolResult(content=[TextContent(type="text", text=told)], is_error=True)
