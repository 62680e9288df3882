"""An ACP agent made with the protocol's own Python SDK, so that ralph's reading of the protocol is not the only one.

Its first argument says how it behaves; what it was asked is noted in ``heard.json`` in its working directory.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import acp
from acp import schema

DONE = "<response>DONE</response>"


def leave(name: str, text: str = "") -> None:
    Path(name).write_text(text)


class Fake:
    def __init__(self, behaviour: str) -> None:
        self._behaviour = behaviour
        self._client: Any = None
        self._cancelled = asyncio.Event()
        self._heard: dict[str, Any] = {}
        self._model = "small"

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    def _note(self, **what: object) -> None:
        self._heard |= what
        Path("heard.json").write_text(json.dumps(self._heard))

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **rest: Any) -> Any:
        has = client_capabilities
        self._note(version=protocol_version, fs=has.fs.read_text_file, terminal=has.terminal)
        resume = schema.SessionCapabilities(resume=schema.SessionResumeCapabilities())
        can = schema.AgentCapabilities(session_capabilities=resume if self._behaviour == "resumes" else None)
        ways: Any = [schema.AuthMethodAgent(id="key", name="Use an API key")]
        version = 99 if self._behaviour == "newer" else protocol_version
        return schema.InitializeResponse(protocol_version=version, agent_capabilities=can, auth_methods=ways)

    async def new_session(self, cwd: str, mcp_servers: Any = None, **rest: Any) -> Any:
        self._note(cwd=cwd, servers=len(mcp_servers or []))
        if self._behaviour == "no-login":
            raise acp.RequestError.auth_required()
        return schema.NewSessionResponse(
            session_id="s-1", config_options=self._options(), modes=self._modes()
        )

    async def resume_session(self, session_id: str, cwd: str, **rest: Any) -> Any:
        self._note(resumed=session_id)
        return schema.ResumeSessionResponse()

    def _modes(self) -> Any:
        offered = [schema.SessionMode(id=name, name=name) for name in ("default", "plan", "yolo")]
        return schema.SessionModeState(current_mode_id="default", available_modes=offered)

    def _options(self) -> Any:
        if self._behaviour != "models":
            return None
        offered = [
            schema.SessionConfigSelectOption(value=name, name=name.title()) for name in ("small", "large")
        ]
        return [
            schema.SessionConfigOptionSelect(
                id="model",
                name="Model",
                category="model",
                type="select",
                current_value="small",
                options=offered,
            )
        ]

    async def set_session_mode(self, session_id: str, mode_id: str, **rest: Any) -> Any:
        self._note(mode=mode_id)
        return schema.SetSessionModeResponse()

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **rest: Any) -> Any:
        self._model = value
        self._note(model=value)
        return schema.SetSessionConfigOptionResponse(config_options=self._options())

    async def cancel(self, session_id: str, **rest: Any) -> None:
        self._note(cancelled=session_id)
        self._cancelled.set()

    async def prompt(self, session_id: str, prompt: Any, **rest: Any) -> Any:
        self._note(prompt=prompt[0].text)
        self._session = session_id
        await self._client.session_update(session_id, acp.update_user_message_text(prompt[0].text))
        return await getattr(self, "_do_" + self._behaviour.replace("-", "_"))()

    async def _say(self, *words: str) -> None:
        for word in words:
            await self._client.session_update(self._session, acp.update_agent_message_text(word))

    async def _end(self, reason: Any = "end_turn", usage: Any = None) -> Any:
        return schema.PromptResponse(stop_reason=reason, usage=usage)

    async def _do_works(self) -> Any:
        """Thinks, plans, asks before it writes a file, and claims in pieces."""
        client, session = self._client, self._session
        await client.session_update(session, acp.update_agent_thought_text(f"not yet {DONE}"))
        plan = [acp.plan_entry("write it", status="in_progress"), acp.plan_entry("say so")]
        await client.session_update(session, acp.update_plan(plan))
        started = acp.start_tool_call("t-1", "Write a.txt", kind="edit", status="in_progress")
        await client.session_update(session, started)
        options = [
            schema.PermissionOption(option_id="always", name="Always", kind="allow_always"),
            schema.PermissionOption(option_id="once", name="Once", kind="allow_once"),
            schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        asked = schema.ToolCallUpdate(tool_call_id="t-1")
        answer = await client.request_permission(session_id=session, tool_call=asked, options=options)
        chosen = getattr(answer.outcome, "option_id", "none")
        self._note(chosen=chosen)
        if chosen == "once":
            leave("a.txt", "made\n")
        status: Any = "completed" if chosen == "once" else "failed"
        said = [acp.tool_content(acp.text_block(f"{status} {DONE}"))]
        await client.session_update(session, acp.update_tool_call("t-1", status=status, content=said))
        await self._say("It is made. <resp", "onse>DO", "NE</response>")
        usage = schema.Usage(total_tokens=60, input_tokens=10, output_tokens=20, cached_read_tokens=30)
        cost = schema.Cost(amount=0.25, currency="USD")
        await client.session_update(
            session, schema.UsageUpdate(session_update="usage_update", used=5, size=100, cost=cost)
        )
        return await self._end(usage=usage)

    _do_models = _do_resumes = _do_works

    async def _do_asks_for_files(self) -> Any:
        client, errors = self._client, []
        asked = (
            client.read_text_file(path="/etc/passwd", session_id=self._session),
            client.create_terminal(command="id", session_id=self._session),
        )
        for question in asked:
            try:
                await question
            except acp.RequestError as error:
                errors.append(error.code)
        self._note(errors=errors)
        await self._say(DONE)
        return await self._end()

    async def _do_empty(self) -> Any:
        return await self._end()

    async def _do_voices_an_error(self) -> Any:
        await self._say("API Error: 429 rate limited, try again later")
        return await self._end()

    async def _do_refuses(self) -> Any:
        await self._say("No.")
        return await self._end("refusal")

    async def _do_limited(self) -> Any:
        raise acp.RequestError(-32603, "Internal error", {"codexErrorInfo": "usageLimitExceeded"})

    async def _do_waits(self) -> Any:
        await self._say("I wait.")
        leave("began")
        await self._cancelled.wait()
        return await self._end("cancelled")

    async def _do_silent(self) -> Any:
        leave("began")
        await asyncio.Event().wait()


fake: Any = Fake(sys.argv[1])  # a part of an agent: what ralph does not ask for is left out
asyncio.run(acp.run_agent(fake, use_unstable_protocol=True))
