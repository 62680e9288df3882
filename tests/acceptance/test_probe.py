"""`ralph doctor --probe`: an agent works with the scripted model, far from its user's home, login and network."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from .conftest import Project
from .running import ended, running, wait_for

AGENT = '''
"""A small claude: it asks the model at ANTHROPIC_BASE_URL, has two tools, and can resume. Files beside it say what it does wrong."""
import json, os, pathlib, subprocess, sys, time, urllib.error, urllib.request, uuid

here, arguments = pathlib.Path(__file__).parent, sys.argv[1:]
if "--version" in arguments:
    print("9.8.7 (Claude Code)")
    sys.exit()
(here / "environment.json").write_text(json.dumps(dict(os.environ)))


def is_wrong(what):
    return (here / what).exists()


if is_wrong("hangs"):
    (here / "hanging").touch()
    time.sleep(600)


def given(flag):
    return next((each.partition("=")[2] for each in arguments if each.startswith(flag + "=")), "")


def emit(**event):
    if event["type"] == "assistant" and is_wrong("speaks-anew"):
        event["type"] = "utterance"
    print(json.dumps(event), flush=True)


session = given("--resume") or str(uuid.uuid4())
memory = pathlib.Path.home() / session
messages = json.loads(memory.read_text()) if memory.exists() and not is_wrong("forgets") else []
messages.append({"role": "user", "content": sys.stdin.read()})
reads_only = bool(given("--tools")) and not is_wrong("always-writes")
tools = [{"name": "Read", "input_schema": {}}] + ([] if reads_only else [{"name": "Bash"}, {"name": "Write"}])
emit(type="system", subtype="init", session_id=session, model="m")
while True:
    asked = {"model": given("--model") or "usual", "messages": messages, "tools": tools}
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps(asked).encode(),
        {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]},
    )
    try:
        answer = json.load(urllib.request.urlopen(request, timeout=60))
    except urllib.error.HTTPError as error:
        status = 500 if is_wrong("hides-refusals") else error.code
        emit(type="result", subtype="success", is_error=True, result=f"API Error: {status}", api_error_status=status)
        sys.exit(1)
    messages.append({"role": "assistant", "content": answer["content"]})
    results, words = [], ""
    for block in answer["content"]:
        emit(type="assistant", message={"content": [block], "usage": answer["usage"], "id": answer["id"]})
        words = block.get("text", words)
        if block["type"] == "tool_use":
            output, call = "no such tool", block["input"]
            if block["name"] == "Bash" and not reads_only:
                output = subprocess.run(call["command"], shell=True, capture_output=True, text=True).stdout
            elif block["name"] == "Write" and not reads_only:
                pathlib.Path(call["file_path"]).write_text(call["content"])
            results.append({"type": "tool_result", "tool_use_id": block["id"], "content": output})
    if not results:
        break
    messages.append({"role": "user", "content": results})
    emit(type="user", message={"content": results})
memory.write_text(json.dumps(messages))
said = "" if is_wrong("speaks-anew") else words
emit(type="result", subtype="success", is_error=False, result=said, usage=answer["usage"])
'''

FEATURES = [
    "starts",
    "the prompt arrives",
    "text is read",
    "a claim is found",
    "a tool call is seen",
    "its result is seen",
    "usage is reported",
    "a session is resumed",
    "the model is chosen",
    "read-only mode works",
    "a 401 asks for a login",
    "a 429 is waited for",
    "unknown events",
    "version",
]


@pytest.fixture
def project(project: Project) -> Project:
    agent = project.programs / "agent.py"
    agent.write_text(AGENT)
    project.program("claude", f'exec {shlex.join([sys.executable, str(agent)])} "$@"\n')
    return project


def probe(project: Project, *arguments: str, check: int) -> dict[str, Any]:
    printed = project.ralph("doctor", "--probe", *arguments, "--json", check=check).stdout
    answer: dict[str, Any] = json.loads(printed)
    assert answer["holds"] is (check == 0)
    return answer


def features(project: Project, *, check: int) -> dict[str, dict[str, Any]]:
    (agent,) = probe(project, "claude", check=check)["agents"]
    return {feature["name"]: feature for feature in agent["features"]}


def test_an_agent_that_works_holds_in_every_feature(project: Project) -> None:
    project.environment |= {"ANTHROPIC_AUTH_TOKEN": "users-own", "HTTPS_PROXY": "http://127.0.0.1:1"}
    before = set(Path(tempfile.gettempdir()).glob("ralph-probe-*"))

    ran = project.ralph("doctor", "--probe", "claude", check=0)

    assert [line.split("  ")[1].split(" ", 1)[1].strip() for line in feature_lines(ran.stdout)] == FEATURES
    assert ran.stdout.startswith("claude 9.8.7\n")
    assert "9.8.7 (newer than the tested" in ran.stdout
    assert "claude: every feature holds." in ran.stdout
    seen = json.loads((project.programs / "environment.json").read_text())
    assert seen["HOME"] != os.environ["HOME"]
    assert seen["ANTHROPIC_API_KEY"] == "scripted-key"
    assert "users-own" not in seen.values()
    assert seen["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert not Path(seen["HOME"]).exists()
    assert set(Path(tempfile.gettempdir()).glob("ralph-probe-*")) <= before
    assert not (project.root / ".ralph").exists()


def feature_lines(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize(
    ("wrong", "broken", "unknown"),
    [
        ("speaks-anew", {"starts", "text is read", "a claim is found", "a tool call is seen"}, "utterance"),
        ("forgets", {"a session is resumed"}, ""),
        ("always-writes", {"read-only mode works"}, ""),
        ("hides-refusals", {"a 401 asks for a login", "a 429 is waited for"}, ""),
    ],
)
def test_what_does_not_hold_is_named(project: Project, wrong: str, broken: set[str], unknown: str) -> None:
    (project.programs / wrong).touch()

    found = features(project, check=4)

    assert {name for name, feature in found.items() if feature["health"] == "bad"} == broken
    assert found["unknown events"]["health"] == ("doubtful" if unknown else "good")
    assert unknown in found["unknown events"]["text"]


def test_an_agent_of_the_settings_is_probed_under_its_name_without_its_variables(project: Project) -> None:
    environment = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "SECRET": "users-own"}
    own = {"command": "claude", "adapter": "claude", "environment": environment}
    project.settings(agents={"mine": own})

    (agent,) = probe(project, "mine", check=0)["agents"]

    assert agent["agent"] == "mine"
    assert "users-own" not in (project.programs / "environment.json").read_text()


def test_without_a_name_every_installed_agent_is_probed(project: Project) -> None:
    project.program("codex", "exit 3\n")

    agents = {each["agent"]: each for each in probe(project, check=4)["agents"]}

    assert {"claude", "codex"} <= agents.keys()
    codex = {feature["name"]: feature for feature in agents["codex"]["features"]}
    assert codex["starts"]["health"] == "bad"
    assert "the model is chosen" not in codex
    assert agents["codex"]["advice"].startswith("update ralph, or install what it was tested with: npm")


@pytest.mark.parametrize(
    ("agent", "code", "told"),
    [
        ("nobody", 2, "unknown agent 'nobody'"),
        ("amp", 4, "amp: cannot be probed: it cannot be pointed at another model"),
        ("goose", 4, "goose: cannot be probed: it speaks ACP"),
        ("mine", 4, "mine: cannot be probed: it speaks ACP"),
    ],
)
def test_what_cannot_be_probed_says_so(project: Project, agent: str, code: int, told: str) -> None:
    project.program("amp", "exit 0\n")
    project.settings(agents={"mine": {"command": "my-agent", "adapter": "acp"}})

    ran = project.ralph("doctor", "--probe", agent, check=code)

    assert told in ran.stdout + ran.stderr
    assert ("Probing" in ran.stderr) == (code == 4), "of a name that is known"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_probe_that_is_stopped_leaves_nothing_behind(project: Project, number: signal.Signals) -> None:
    (project.programs / "hangs").touch()
    with running(project, "--probe", "claude", command="doctor") as process:
        wait_for((project.programs / "hanging").exists, "the agent at work")
        home = Path(json.loads((project.programs / "environment.json").read_text())["HOME"])
        process.send_signal(number)
        code, _ = ended(process)

    assert code == 130
    assert not home.parent.exists()
    wait_for(lambda: not processes_with(f"HOME={home}"), "the end of the agent")


def processes_with(variable: str) -> list[str]:
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended while we looked, or is not ours to read
            if variable.encode() in environ.read_bytes().split(b"\0"):
                found.append(environ.parent.name)
    return found


def test_an_agent_that_is_not_installed_says_how_to(project: Project) -> None:
    path = os.pathsep.join([str(project.programs / "bin"), "/usr/bin", "/bin"])
    ran = project.ralph("doctor", "--probe", "qwen", check=4, PATH=path)

    assert "qwen: not installed; to install it: npm install -g @qwen-code/qwen-code." in ran.stdout


def test_without_any_agent_it_says_how_to_install_one(project: Project) -> None:
    (project.programs / "bin" / "claude").unlink()
    path = os.pathsep.join([str(project.programs / "bin"), "/usr/bin", "/bin"])
    ran = project.ralph("doctor", "--probe", check=4, PATH=path)

    assert "Install one, for example claude: npm install -g @anthropic-ai/claude-code" in ran.stdout


def test_a_program_that_only_an_untrusted_project_names_is_not_started(project: Project) -> None:
    evil = project.root / "evil"
    evil.write_text("#!/bin/sh\ntouch started\n")
    evil.chmod(0o755)
    project.settings(agents={"mine": {"command": "./evil", "adapter": "claude"}})

    project.ralph("doctor", "--probe", "mine", check=2, RALPH_TRUST="")

    assert not (project.root / "started").exists()
