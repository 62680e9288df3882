"""``ralph mcp``: an agent drives loops through a real server process, with the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from ralph.interfaces.mcp.tools import TOOLS

from .conftest import DONE, PROMPT, Project
from .running import wait_for
from .task_project import TaskProject

pytestmark = pytest.mark.timeout(240)

DEADLINE = 150.0
MOST_BYTES = 50_000
WAIT = "touch started; while [ ! -e go ]; do sleep 0.05; done"
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
T = TypeVar("T")


def play(work: Coroutine[Any, Any, T]) -> T:
    """The client wraps what a test finds wrong in groups."""
    try:
        return asyncio.run(asyncio.wait_for(work, DEADLINE))
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


class Driver:
    """What an agent does with the tools."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, tool: str, **given: Any) -> dict[str, Any]:
        """The data of an answer, which is no error."""
        result = await self.client.call_tool(tool, given)
        assert not result.is_error, text_of(result)
        assert text_of(result)
        assert len(result.model_dump_json()) <= MOST_BYTES
        return dict(result.structured_content)

    async def refusal(self, tool: str, **given: Any) -> str:
        result = await self.client.call_tool(tool, given)
        assert result.is_error, text_of(result)
        assert "Traceback" not in text_of(result)
        assert "Internal error" not in text_of(result)
        return text_of(result)

    async def until(self, run: str, state: str) -> dict[str, Any]:
        """Wait as the tools tell an agent to."""
        told = await self.ask("logs", run=run, after=0, wait=1)
        while told["state"] != state:
            assert told["live"], told
            told = await self.ask("logs", run=run, after=told["cursor"], wait=1)
        return told

    async def end(self, run: str) -> dict[str, Any]:
        while (told := await self.ask("logs", run=run, wait=50, until="end"))["live"]:
            pass
        return told


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def connected(project: Project, *arguments: str, **environment: str) -> AsyncIterator[Driver]:
    """Whatever the server says besides the protocol is told by the test."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ralph", "mcp", *arguments],
        cwd=project.root,
        env=project.env(**environment),
    )
    said = project.programs / "said"
    with said.open("w+") as errors:
        async with Client(stdio_client(server, errlog=errors)) as client:
            yield Driver(client)
    assert said.read_text() == ""


def trust(project: Project) -> None:
    """As its user, who has waived nothing."""
    project.ralph("trust", "--yes", RALPH_TRUST="", check=0)


@pytest.fixture
def slow(project: Project) -> Iterator[Project]:
    """Its first session waits for a file, and its guardrail wants another."""
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "cat made"}])
    project.agent(
        [{"say": "first words"}, {"run": WAIT}, {"say": DONE}],
        [{"write": {"path": "made", "content": "x"}}, {"say": DONE}],
    )
    trust(project)
    yield project
    (project.root / "go").touch()  # what a test that failed has left is over soon


# --- a run ---


def test_a_loop_is_started_followed_and_judged(slow: Project) -> None:
    async def drive() -> None:
        async with connected(slow) as agent:
            assert await agent.ask("runs") == {"runs": [], "more": 0}
            run = (await agent.ask("start", kind="run", prompt=PROMPT, maxIterations=3))["run"]
            first = await agent.ask("logs", run=run, wait=50)
            assert first["live"]
            wait_for((slow.root / "started").exists, "the agent's start")
            (slow.root / "go").touch()
            assert (await agent.end(run))["state"] == "completed"

            shown = await agent.ask("show", run=run)
            assert (shown["state"], shown["maximum"], shown["tools"]) == ("completed", 3, [])
            assert [each["decision"] for each in shown["iterations"]] == ["not done yet", "accepted"]
            (failed,) = shown["iterations"][0]["failedChecks"]
            assert failed["name"] == "cat made"
            assert any("No such file" in line for line in failed["lines"])
            newest = await agent.ask("show", iterations=1)
            assert (newest["id"], len(newest["iterations"]), newest["iterationsLeftOut"]) == (run, 1, 1)

            whole = await agent.ask("logs", run=run, after=0, detail="all")
            assert any("first words" in event["text"] for event in whole["events"])
            loop = await agent.ask("logs", run=run)
            assert "agent_acted" not in {event["kind"] for event in loop["events"]}
            assert loop["events"][-1]["text"].startswith("run completed")
            (row,) = (await agent.ask("runs", state="completed"))["runs"]
            assert (row["id"], row["iteration"]) == (run, 2)
            assert (await agent.ask("runs", state="failed"))["runs"] == []

    play(drive())


def test_a_cursor_gives_each_event_once_and_in_order(slow: Project) -> None:
    (slow.root / "go").touch()

    async def drive() -> None:
        async with connected(slow) as agent:
            run = (await agent.ask("start", kind="run", prompt=PROMPT))["run"]
            await agent.until(run, "completed")
            whole = (await agent.ask("logs", run=run, after=0))["events"]
            pieces: list[dict[str, Any]] = []
            cursor, more = 0, True
            while more:
                told = await agent.ask("logs", run=run, after=cursor, limit=2)
                pieces, cursor, more = [*pieces, *told["events"]], told["cursor"], told["more"]
            assert pieces == whole
            assert (await agent.ask("logs", run=run, after=cursor, wait=50))["events"] == []  # it has ended

    play(drive())


def test_a_run_outlives_the_server_and_is_asked_by_another(slow: Project) -> None:
    async def begin() -> str:
        async with connected(slow) as agent:
            return str((await agent.ask("start", kind="run", prompt=PROMPT))["run"])

    async def drive(run: str) -> None:
        async with connected(slow) as agent:
            (row,) = (await agent.ask("runs", state="running"))["runs"]
            assert row["id"] == run
            assert (await agent.ask("show"))["tools"] == ["pause", "steer", "stop"]
            assert "in use by run" in await agent.refusal("start", kind="run", prompt=PROMPT)
            assert "cannot be resumed" in await agent.refusal("resume", run=run)
            await agent.ask("steer", text="Mind the café.")
            await agent.ask("pause", run=run)
            (slow.root / "go").touch()
            await agent.until(run, "paused")
            assert (await agent.ask("show"))["tools"] == ["unpause", "steer", "stop"]
            (slow.root / "go").unlink()
            await agent.ask("stop", run=run, now=True)
            await agent.until(run, "cancelled")
            assert "is not under way" in await agent.refusal("steer", text="too late")
            assert (await agent.ask("show"))["tools"] == ["resume"]
            assert (await agent.ask("resume", run=run))["run"] == run
            await agent.until(run, "completed")
            assert "Mind the café." in slow.prompt(2)
            assert "cannot be resumed" in await agent.refusal("resume", run=run)

    run = play(begin())
    wait_for((slow.root / "started").exists, "the agent's start")
    play(drive(run))


# --- trust and limits ---


@pytest.mark.parametrize("kind", ["run", "supervise"])
def test_a_project_that_its_user_has_not_trusted_is_not_started(project: Project, kind: str) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "touch ran"}])
    project.agent([{"say": DONE}])

    async def drive() -> None:
        async with connected(project, RALPH_TRUST="1") as agent:
            refusal = await agent.refusal("start", kind=kind, prompt=PROMPT)
            assert "is not trusted" in refusal
            assert "ralph trust" in refusal
            assert (await agent.ask("runs"))["runs"] == []

    play(drive())
    assert not (project.root / "ran").exists()
    assert not list((project.root / ".ralph").glob("detached-*"))


def test_limits_can_be_tightened_and_not_widened(slow: Project) -> None:
    slow.settings(agent={"command": "claude"}, maximumIterations=4, limits={"maxCost": 2.5})
    trust(slow)

    async def drive() -> None:
        async with connected(slow) as agent:
            start = {"kind": "run", "prompt": PROMPT}
            more = await agent.refusal("start", **start, maxIterations=5)
            assert "5 iterations are more than this project allows: 4" in more
            assert "allows: 2.5" in await agent.refusal("start", **start, maxCost=3)
            assert "allows: 15" in await agent.refusal("start", kind="plan", maxIterations=16)
            assert "allows: 100" in await agent.refusal(
                "start", kind="supervise", prompt="x", maxIterations=101
            )
            (slow.root / "go").touch()
            run = (await agent.ask("start", **start, maxIterations=1, maxCost=2.5, maxSeconds=600))["run"]
            assert (await agent.end(run))["reason"]
            assert (await agent.ask("show", run=run))["maximum"] == 1

    play(drive())


def test_only_a_person_raises_a_limit_that_was_reached(project: Project) -> None:
    project.settings(agent={"command": "claude"}, maximumIterations=1)
    project.agent([{"say": "not yet"}])
    trust(project)

    async def drive() -> None:
        async with connected(project) as agent:
            run = (await agent.ask("start", kind="run", prompt=PROMPT))["run"]
            await agent.until(run, "exhausted")
            assert (await agent.ask("show", run=run))["tools"] == []
            for tool, words in (
                ("logs", f"run {run} has reached its limit"),
                ("show", "limit reached, iter"),
            ):
                assert words in text_of(await agent.client.call_tool(tool, {"run": run}))
            refusal = await agent.refusal("resume", run=run)
            assert "only a person may raise" in refusal
            assert f"ralph resume {run} -m 2" in refusal

    play(drive())


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("start", {}, "missing required field `kind`"),
    ("start", {"kind": "ship"}, "choose one of: plan, run, supervise, work"),
    ("start", {"kind": "run"}, "the prompt is empty"),
    ("start", {"kind": "run", "prompt": "a\0b"}, "not UTF-8"),
    ("start", {"kind": "work", "prompt": "x"}, "takes no prompt"),
    ("start", {"kind": "plan", "tasks": ["T-1"]}, "takes no tasks"),
    ("start", {"kind": "work", "tasks": ["--trust"]}, "'--trust' is not the id of a task"),
    ("start", {"kind": "work", "tasks": ["T-9"]}, "there are no tasks here yet"),
    ("start", {"kind": "run", "prompt": "x" * 20_001}, "length <= 20000"),
    ("start", {"kind": "run", "prompt": "x", "maxIterations": 0}, ">= 1"),
    ("start", {"kind": "run", "prompt": "x", "maxCost": "much"}, "Expected `float`"),
    *(
        ("start", {"kind": "run", "prompt": "x", option: value}, f"unknown field `{option}`")
        for option, value in [
            ("trust", True),
            ("sandbox", "none"),
            ("noSandbox", True),
            ("proof", "trusting"),
            ("agent", "sh"),
            ("guardrails", []),
            ("projectDir", "/"),
            ("env", {"RALPH_TRUST": "1"}),
        ]
    ),
    ("runs", {"state": "lost"}, "choose one of: cancelled, completed, exhausted,"),
    ("show", {"run": "nothing"}, "the runs here are: r-"),
    ("show", {"run": ""}, "length >= 1"),
    ("logs", {"run": "../../etc"}, "there is no run '../../etc' here"),
    ("logs", {"wait": 3600}, "<= 50"),
    ("logs", {"after": -1}, ">= 0"),
    ("steer", {"text": "  "}, "the text is empty"),
    ("stop", {}, "missing required field `run`"),
    ("stop", {"run": "last"}, "is not under way"),
    ("add_task", {"id": "no/id", "title": "t", "outcome": "o", "acceptance": ["a"]}, "may contain only"),
    ("add_task", {"id": "T-1", "title": "t", "outcome": "o", "acceptance": []}, "length >= 1"),
    (
        "add_task",
        {"id": "T-1", "title": "t", "outcome": "o", "acceptance": ["a"], "verify": "sh"},
        "unknown field `verify`",
    ),
    ("cancel_task", {"id": "T-9"}, "T-9"),
    ("launch", {}, "the tools are: start, runs"),
]


def test_bad_input_is_refused_with_what_is_wrong_and_nothing_is_started(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    trust(project)
    project.git("init", "-q")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    project.ralph("run", "-p", PROMPT, check=0)
    ((run,),) = project.rows("SELECT id FROM runs")

    async def drive() -> None:
        async with connected(project) as agent:
            for tool, arguments, expected in BAD:
                refusal = await agent.refusal(tool, **arguments)
                assert expected.replace("r-", run) in refusal, (tool, arguments)

    play(drive())
    assert project.rows("SELECT id FROM runs") == [(run,)]
    assert project.rows("SELECT id FROM tasks") == []


def test_who_may_only_look_is_offered_nothing_else(slow: Project) -> None:
    async def drive() -> None:
        async with connected(slow, "--read-only") as agent:
            listed = (await agent.client.list_tools()).tools
            assert {tool.name for tool in listed} == {"runs", "show", "logs", "tasks"}
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
            assert "there is no tool 'start'" in await agent.refusal("start", kind="run", prompt="x")

    play(drive())


# --- tasks ---


def test_a_task_is_added_worked_on_and_tried_again(project: Project) -> None:
    tasks = TaskProject(project)
    trust(project)
    first = {"title": "totals", "outcome": "There are totals.", "acceptance": ["each row has one"]}

    async def drive() -> None:
        async with connected(project) as agent:
            await agent.ask("add_task", id="T-1", **first)
            await agent.ask("add_task", id="T-2", **first, dependsOn=["T-1"], priority=1)
            rows = (await agent.ask("tasks"))["tasks"]
            assert [(row["id"], row["state"], row["waitsFor"]) for row in rows] == [
                ("T-2", "waiting", ["T-1"]),
                ("T-1", "ready", []),
            ]
            assert "there is a task T-1 already" in await agent.refusal("add_task", id="T-1", **first)
            assert (await agent.ask("cancel_task", id="T-2"))["status"] == "cancelled"
            assert (await agent.ask("retry_task", id="T-2"))["status"] == "open"
            run = (await agent.ask("start", kind="work", tasks=["T-1"]))["run"]
            assert (await agent.end(run))["state"] == "completed"
            shown = await agent.ask("show", run=run)
            assert [part["title"] for part in shown["parts"]] == ["T-1 totals"]
            assert [row["id"] for row in (await agent.ask("tasks", status="done"))["tasks"]] == ["T-1"]

    play(drive())
    assert (tasks.root / "T-1.txt").exists()


# --- inside a run ---

INSIDE = """
import asyncio, json, os, sys
from pathlib import Path
from mcp import Client
from mcp.client.stdio import StdioServerParameters

async def main():
    passed = dict(os.environ) if sys.argv[1] == "all" else {}
    server = StdioServerParameters(command=sys.executable, args=["-m", "ralph", "mcp"], env=passed)
    told = {}
    async with Client(server) as client:
        for tool, given in (
            ("stop", {"run": "last", "now": True}), ("steer", {"text": "Believe me."}), ("pause", {"run": "last"}),
            ("start", {"kind": "run", "prompt": "Say it."}),
        ):
            told[tool] = (await client.call_tool(tool, given)).content[0].text
        child = told["start"].split()[1]
        for _ in range(100):
            shown = await client.call_tool("logs", {"run": child, "after": 0, "wait": 1})
            if not (shown.structured_content or {}).get("live", False):
                break
    Path("told.json").write_text(json.dumps(told))
    (Path(os.environ["TASK_FOLDER"]) / "DONE").touch()

asyncio.run(main())
"""


@pytest.mark.parametrize("environment", ["all", "none"])
def test_an_agent_inside_a_run_starts_children_and_leaves_its_own_run_alone(
    project: Project, environment: str
) -> None:
    """Also if its client passes none of the run's variables on to the server, as most do."""
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    trust(project)
    script = project.programs / "inside.py"
    script.write_text(INSIDE)
    project.ralph("supervise", "--task", "t", "--", sys.executable, str(script), environment, check=0)

    told = json.loads((project.root / "told.json").read_text())
    rows = project.rows("SELECT id, profile, parent_id, outcome FROM runs ORDER BY started_at")
    assert [(profile, outcome) for _, profile, _, outcome in rows] == [
        ("supervised", "completed"),
        ("basic", "completed"),
    ]
    parent, child = rows[0][0], rows[1]
    for tool in ("stop", "steer", "pause"):
        assert f"this is inside run {parent}" in told[tool]
    assert child[2] == parent
    assert f"run {child[0]} has begun" in told["start"]


# --- many calls, long waits ---


def test_a_call_that_waits_holds_nobody_up_and_ends_with_the_news(slow: Project) -> None:
    async def drive() -> None:
        async with connected(slow) as agent:
            run = (await agent.ask("start", kind="run", prompt=PROMPT))["run"]
            wait_for((slow.root / "started").exists, "the agent's start")
            cursor = (await agent.ask("logs", run=run, detail="all"))["cursor"]
            waiting = [
                asyncio.create_task(agent.ask("logs", run=run, after=cursor, wait=50, until=until))
                for until in ("news", "news", "end")
            ]
            answers = await asyncio.gather(
                *(agent.ask("runs") for _ in range(20)), *(agent.ask("show") for _ in range(20))
            )
            assert len(answers) == 40
            assert not any(task.done() for task in waiting)
            began = time.monotonic()
            assert (await agent.ask("logs", run=run, after=cursor, wait=0.5))["events"] == []
            assert time.monotonic() - began >= 0.5
            (slow.root / "go").touch()
            first, second, last = await asyncio.gather(*waiting)
            assert first["events"]
            assert second["events"]
            assert last["state"] == "completed"
            await agent.until(run, "completed")

    play(drive())


# --- the process ---

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Raw:
    """The server as a process, message by message."""

    def __init__(self, project: Project) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ralph", "mcp"],
            cwd=project.root,
            env=project.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def call(self, number: int, tool: str, **given: Any) -> None:
        params = {"name": tool, "arguments": given}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def answer(self, number: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == number:
                return dict(message)
        raise AssertionError(self.process.communicate(timeout=DEADLINE))

    def greet(self) -> None:
        self.send(INITIALIZE)
        assert self.answer(1)["result"]["serverInfo"]["name"] == "ralph"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


@pytest.fixture
def raw(slow: Project) -> Iterator[Raw]:
    server = Raw(slow)
    yield server
    server.process.kill()
    server.process.communicate()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, None])
def test_it_ends_quickly_and_quietly_while_a_call_waits_and_the_run_goes_on(
    slow: Project, raw: Raw, end: signal.Signals | None
) -> None:
    raw.greet()
    raw.call(2, "start", kind="run", prompt=PROMPT)
    run = raw.answer(2)["result"]["structuredContent"]["run"]
    wait_for((slow.root / "started").exists, "the agent's start")
    raw.call(3, "logs", run=run, detail="all")
    cursor = raw.answer(3)["result"]["structuredContent"]["cursor"]
    raw.call(4, "logs", run=run, after=cursor, wait=50)
    raw.call(5, "runs")
    raw.answer(5)
    began = time.monotonic()
    if end is not None:
        raw.process.send_signal(end)
    else:
        assert raw.process.stdin is not None
        raw.process.stdin.close()
        raw.process.stdin = None
    out, err = raw.process.communicate(timeout=DEADLINE)
    assert time.monotonic() - began < 40  # the call would have waited for longer
    assert raw.process.returncode == 0
    assert err == b""
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert slow.rows("SELECT outcome FROM runs") == [(None,)]
    (slow.root / "go").touch()
    wait_for(lambda: slow.rows("SELECT outcome FROM runs") == [("completed",)], "the end of the run")


def test_what_is_no_message_harms_nobody(raw: Raw) -> None:
    raw.greet()
    for garbage in (
        b"hello",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"jsonrpc": "2.0", "id": 7, "method": 5}',
        b"[" * 5_000,
    ):
        raw.send(garbage)
    raw.send(
        b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"steer","arguments":{"text":"\\ud800"}}}'
    )
    raw.call(9, "runs", limit=[{"a": 1}])
    assert raw.answer(9)["result"]["isError"]
    raw.call(10, "runs")
    assert raw.answer(10)["result"]["structuredContent"]["runs"] == []
    assert raw.process.stdin is not None
    raw.process.stdin.close()
    raw.process.stdin = None
    _, err = raw.process.communicate(timeout=DEADLINE)
    assert (raw.process.returncode, err) == (0, b"")


def test_a_client_that_reads_no_more_is_no_error(raw: Raw) -> None:
    raw.greet()
    assert raw.process.stdout is not None
    raw.process.stdout.close()
    raw.call(2, "runs")
    raw.process.stdout = None
    _, err = raw.process.communicate(timeout=DEADLINE)
    assert (raw.process.returncode, err) == (0, b"")


def test_hostile_text_is_harmless_masked_and_bounded(project: Project) -> None:
    hostile = f"\x1b]0;owned\x07\x1b[2J\u202e{TOKEN} \"'\\ é"
    flood = "python3 -c \"print('\\\\x1b[31m\\u202e' + 'y' * 100000 + '\\\\n' * 99); exit(1)\""
    project.settings(
        agent={"command": "claude"},
        maximumIterations=3,
        guardrails=[{"command": f"{flood} # {number}"} for number in range(8)],
    )
    project.agent([{"say": hostile}, {"say": '"é' * 40_000}, {"run": "echo hi"}, {"say": DONE}])
    trust(project)

    async def drive() -> list[str]:
        async with connected(project) as agent:
            run = (await agent.ask("start", kind="run", prompt=f"{hostile} {DONE}"))["run"]
            await agent.until(run, "exhausted")
            answers = [
                await agent.client.call_tool(tool, given)
                for tool, given in (
                    ("runs", {"limit": 50}),
                    ("show", {"iterations": 20}),
                    ("logs", {"detail": "all", "limit": 50}),
                    ("logs", {"detail": "all", "limit": 50, "after": 0}),
                    ("show", {"run": hostile}),
                )
            ]
            return [answer.model_dump_json() for answer in answers]

    for told in play(drive()):
        assert len(told.encode()) <= MOST_BYTES
        assert not re.search(r"\\u001b|\\u0007|\x1b|\u202e|\\u202e(?!\W)", told)
        assert TOKEN not in told


# --- without the extra, and what is written about it ---


def test_without_the_extra_it_says_what_to_install(project: Project) -> None:
    hidden = project.programs / "hidden" / "mcp"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n")
    ran = project.ralph(
        "mcp", check=2, PYTHONPATH=f"{hidden.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    assert ran.stdout == ""
    assert "`ralph mcp` needs the package mcp" in ran.stderr
    assert "pip install '.[mcp]'" in ran.stderr


def test_a_folder_that_is_no_project_is_refused_before_anything_is_said(project: Project) -> None:
    ran = project.ralph("mcp", "--project-dir", str(project.root / "missing"), check=2)
    assert ran.stdout == ""
    assert "missing" in ran.stderr


def test_the_page_lists_every_tool_with_all_that_it_takes() -> None:
    from ralph.interfaces.mcp.arguments import schema_of

    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE)
    assert {name: re.findall(r"`(\w+)`", taken) for name, taken in rows} == {
        tool.name: list(schema_of(tool.takes)["properties"]) for tool in TOOLS
    }
