"""A clean start: what a user has planted at home does not reach the model; the project's own words do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ralph.testing.model import Step

from .harness import DONE, PROMPT, LiveProject

SERVER = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        about = {"name": "planted", "version": "1"}
        tool = {"name": "planted_tool", "description": "x", "inputSchema": {"type": "object", "properties": {}}}
        version = asked.get("params", {}).get("protocolVersion", "")
        answer = {
            "initialize": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about},
            "tools/list": {"tools": [tool]},
        }.get(asked.get("method"), {})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""
PLUGIN = Path(__file__).parents[2] / "plugin"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def change(file: Path, **more: object) -> None:
    settings = json.loads(file.read_text()) if file.exists() else {}
    write(file, json.dumps(settings | more))


def claude(home: Path, server: list[str]) -> None:
    change(
        home / ".claude.json",
        mcpServers={"planted": {"type": "stdio", "command": server[0], "args": server[1:]}},
    )
    write(home / ".claude" / "CLAUDE.md", "PLANTED memory")
    write(
        home / ".claude" / "skills" / "mine" / "SKILL.md",
        "---\nname: mine\ndescription: PLANTED skill\n---\nx\n",
    )
    hook = {"hooks": [{"type": "command", "command": "echo PLANTED hook"}]}
    change(home / ".claude" / "settings.json", hooks={"UserPromptSubmit": [hook]})


def codex(home: Path, server: list[str]) -> None:
    file = home / ".codex" / "config.toml"
    file.write_text(
        f"{file.read_text()}[mcp_servers.planted]\ncommand = {json.dumps(server[0])}\nargs = {server[1:]}\n"
    )


def gemini_like(home: Path, server: list[str], name: str) -> None:
    folder = home / f".{name}"
    change(folder / "settings.json", mcpServers={"planted": {"command": server[0], "args": server[1:]}})
    extension = folder / "extensions" / "mine"
    change(extension / f"{name}-extension.json", name="mine", version="1.0.0", contextFileName="WORDS.md")
    write(extension / "WORDS.md", "PLANTED extension")


def opencode(home: Path, server: list[str]) -> None:
    said = 'async () => ({"experimental.chat.system.transform": async (_, to) => {to.system.push("PLANTED plugin")}})'
    write(home / ".config" / "opencode" / "plugin" / "mine.js", f"export const mine = {said}\n")


PLANT: Mapping[str, Callable[[Path, list[str]], None]] = {
    "claude": claude,
    "codex": codex,
    "gemini": lambda home, server: gemini_like(home, server, "gemini"),
    "qwen": lambda home, server: gemini_like(home, server, "qwen"),
    "opencode": opencode,
}
"""What a clean start drops; copilot has no flags for that."""


@pytest.mark.parametrize("isolation", ["usual", "clean"])
def test_a_clean_start_has_nothing_of_the_users(project: LiveProject, isolation: str) -> None:
    name = project.agent.name
    if name not in PLANT:
        pytest.skip(f"{name} cannot start clean")
    for file in ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"):
        write(project.root / file, "The PROJECT has its words.\n")
    write(project.home / "server.py", SERVER)
    with project.model(Step(text=DONE)) as model:
        flags: list[str] = []
        if name == "codex" and isolation == "clean":  # the provider in config.toml is the user's, too
            provider = (
                f'{{name="s",base_url="{model.url}/v1",env_key="SCRIPTED_API_KEY",wire_api="responses"}}'
            )
            flags = [
                "-c",
                "model_provider=s",
                "-c",
                "model=scripted",
                "-c",
                f"'model_providers.s={provider}'",
            ]
        project.settings(model.url, flags=flags)
        PLANT[name](project.home, [sys.executable, str(project.home / "server.py")])
        head = project.ralph("-p", PROMPT, "--isolation", isolation, check=0)
        asked = model.main_requests[0].text

    is_clean = isolation == "clean"
    assert ("starts clean" in head) == is_clean
    assert ("PLANTED" not in asked and "planted_tool" not in asked) == is_clean
    assert "PROJECT has its words" in asked


def test_a_clean_claude_has_the_guard_that_it_was_given(project: LiveProject) -> None:
    if project.agent.name != "claude":
        pytest.skip("the plugin is claude's")
    with project.model(Step(shell="touch before; git push --force"), Step(text=DONE)) as model:
        project.settings(model.url, flags=[f"--plugin-dir={PLUGIN}"])
        project.ralph("-p", PROMPT, "--isolation", "clean", check=0)
        assert "ralph's guard refuses this command" in model.main_requests[1].text
