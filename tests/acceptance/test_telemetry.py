"""Spans and metrics, as a receiver of OTLP gets them from real runs."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.security.test_sandboxed_run import needs_bwrap

from .conftest import DONE, PROMPT, Project
from .otlp_receiver import Seen, receiving
from .running import running, wait_for
from .task_project import TaskProject

RUN = "invoke_workflow ralph"
SESSION = "invoke_agent claude"
OUTER_TRACE, OUTER_SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
OUTER = f"00-{OUTER_TRACE}-{OUTER_SPAN}-01"
TELLS = {"run": 'echo "$TRACEPARENT" >> told'}
SECRET = "sk-ant-api03-" + "x7" * 20


def told(project: Project) -> list[str]:
    return (project.root / "told").read_text().split()


def as_parent(span: Seen) -> str:
    return f"00-{span.trace}-{span.id}-01"


def twice(project: Project) -> None:
    """The first claim is denied, the second one holds."""
    project.settings(agent={"command": "claude"}, guardrails=["test -f made"])
    project.agent([TELLS, {"say": DONE}], [TELLS, {"run": "false"}, {"touch": "made"}, {"say": DONE}])


def test_a_run_is_a_tree_of_spans(project: Project) -> None:
    twice(project)
    with receiving() as receiver:
        project.ralph("run", "-p", PROMPT, check=0, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address)

    run = receiver.one(RUN)
    first, second = receiver.named("iteration")
    sessions = receiver.named(SESSION)
    checks = receiver.named("check test -f made")
    tools = [span for span in receiver.spans if span.name == "execute_tool Bash"]
    assert {span.trace for span in receiver.spans} == {run.trace}
    assert run.parent == ""
    assert (first.parent, second.parent) == (run.id, run.id)
    assert [span.parent for span in sessions] == [first.id, second.id]
    assert [span.parent for span in checks] == [first.id, second.id]
    assert [span.parent for span in tools] == [sessions[0].id, sessions[1].id, sessions[1].id]
    assert told(project) == [as_parent(span) for span in sessions]
    by_id = {span.id: span for span in receiver.spans}
    assert len(by_id) == len(receiver.spans), "no span is sent twice"
    for span in receiver.spans:
        assert span.start <= span.end
        if span.parent:
            assert by_id[span.parent].start <= span.start
            assert span.end <= by_id[span.parent].end

    assert run.attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert run.attributes["ralph.outcome"] == "completed"
    assert run.attributes["ralph.iterations"] == 2
    assert run.attributes["ralph.denied_claims"] == 1
    assert run.attributes["ralph.project"] == "project"
    assert not run.is_error
    assert first.attributes["ralph.decision"] == "continue"
    assert first.events == ("claims", "decision")
    assert sessions[0].attributes == {
        **sessions[0].attributes,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "claude",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "scripted",
        "gen_ai.usage.input_tokens": 9200,
        "gen_ai.usage.output_tokens": 340,
        "gen_ai.usage.cache_read.input_tokens": 8000,
        "ralph.cost_usd": 0.0123,
    }
    assert sessions[0].attributes["gen_ai.conversation.id"].startswith("fake-")
    assert tools[0].attributes["gen_ai.tool.call.id"] == "tool_1"
    assert [span.is_error for span in tools] == [False, False, True]
    denied = checks[0]
    assert denied.is_error
    assert denied.attributes["error.type"] == "failed"
    assert denied.attributes["ralph.check.command"] == "test -f made"
    assert denied.attributes["ralph.check.exit_code"] == 1
    assert len(denied.attributes["ralph.check.output_sha256"]) == 64
    assert not checks[1].is_error
    assert receiver.resources[0]["service.name"] == "ralph"


def test_metrics_say_what_the_run_says(project: Project) -> None:
    twice(project)
    with receiving() as receiver:
        project.settings(
            agent={"command": "claude"}, guardrails=["test -f made"], telemetry={"otlp": receiver.address}
        )
        project.ralph("run", "-p", PROMPT, check=0)

    assert receiver.totals("ralph.iterations") == {"continue": 1, "accept": 1}
    assert receiver.totals("ralph.denied_claims") == {"": 1}
    assert receiver.totals("ralph.cost")[""] == pytest.approx(0.0246)
    assert receiver.totals("ralph.tokens") == {"input": 2400, "output": 680, "cache_read": 16000}
    assert receiver.totals("ralph.sessions") == {"exited none iteration": 2}
    assert receiver.totals("ralph.runs.ended") == {"completed": 1}
    assert receiver.totals("gen_ai.client.token.usage") == {
        "invoke_agent anthropic input": 18400,
        "invoke_agent anthropic output": 680,
    }
    assert receiver.totals("gen_ai.client.operation.duration").keys() == {"invoke_agent anthropic"}


def test_a_run_is_a_part_of_the_trace_that_it_is_started_in(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([TELLS, {"say": "no"}])
    with receiving() as receiver:
        project.environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{receiver.address}/own/v1/traces"
        project.ralph("run", "-p", PROMPT, "-m", "1", check=1, TRACEPARENT=OUTER)
        project.ralph("resume", "-m", "2", check=1)

    assert set(receiver.requests) == {"/own/v1/traces"}, "no metrics where only traces are asked for"
    first, again = receiver.named(RUN)
    assert (first.trace, first.parent) == (OUTER_TRACE, OUTER_SPAN)
    assert (again.trace, again.parent) == (OUTER_TRACE, first.id), "resumed without the variable"
    assert first.is_error
    assert first.attributes["error.type"] == "exhausted"
    assert told(project) == [as_parent(span) for span in receiver.named(SESSION)]
    assert len({span.id for span in receiver.spans}) == len(receiver.spans)


def test_what_is_not_sampled_is_not_sent(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([TELLS, {"say": DONE}])
    with receiving() as receiver:
        project.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.address
        project.ralph("run", "-p", PROMPT, check=0, TRACEPARENT=OUTER[:-1] + "0")
    assert receiver.spans == []
    assert told(project)[0].startswith(f"00-{OUTER_TRACE}-")
    assert told(project)[0].endswith("-00")


@pytest.mark.parametrize("content", [False, True])
def test_texts_are_sent_only_if_the_user_wants_it(project: Project, content: bool) -> None:
    project.agent(
        [{"say": f"The word is gooseberry, the key {SECRET}."}, {"run": "echo rhubarb"}, {"say": DONE}]
    )
    with receiving() as receiver:
        project.settings(
            agent={"command": "claude"}, telemetry={"otlp": receiver.address, "content": content}
        )
        project.ralph("run", "-p", f"Elderberry. {PROMPT} {SECRET}", check=0)

    sent = repr(receiver.spans)
    assert ("Elderberry" in sent, "gooseberry" in sent, "rhubarb" in sent) == (content,) * 3
    assert SECRET not in sent
    session = receiver.one(SESSION)
    assert ("gen_ai.input.messages" in session.attributes) is content
    assert ("gen_ai.output.messages" in session.attributes) is content


@pytest.mark.parametrize(
    ("status", "hangs", "said"),
    [
        (500, False, "the receiver answers with status 500"),
        # On a slow machine the run outlasts the first request.
        (200, True, r"the receiver did not answer within 3\.\d s|nothing took it in time"),
    ],
)
def test_a_receiver_that_fails_is_one_warning(project: Project, status: int, hangs: bool, said: str) -> None:
    twice(project)
    with receiving(status=status, hangs=hangs) as receiver:
        began = time.monotonic()
        ran = project.ralph("run", "-p", PROMPT, check=0, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address)
        took = time.monotonic() - began
    where = re.escape(receiver.address)
    assert_one_warning(
        ran.stderr, f"telemetry could not be sent to {where}: ({said}); the run is not affected"
    )
    assert took < 60


def test_a_receiver_that_is_away_is_one_warning(project: Project) -> None:
    twice(project)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ran = project.ralph("run", "-p", PROMPT, check=0, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}")
    assert_one_warning(ran.stderr, "telemetry could not be sent")


def test_a_receiver_without_metrics_is_none_to_complain_about(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    with receiving() as traces, receiving(status=405) as metrics:
        ran = project.ralph(
            *("run", "-p", PROMPT),
            check=0,
            OTEL_EXPORTER_OTLP_ENDPOINT=traces.address,
            OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"{metrics.address}/v1/metrics",
        )
    assert metrics.requests
    assert "could not be sent" not in ran.stderr


def assert_one_warning(stderr: str, said: str) -> None:
    assert stderr.count("could not be sent") == 1, stderr
    assert re.search(said, stderr), stderr
    assert "Traceback" not in stderr
    assert "Transient error" not in stderr
    assert "Completed" in stderr


def test_two_interrupts_are_not_kept_waiting_by_a_receiver_that_hangs(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}])
    with receiving(hangs=True) as receiver:
        project.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.address
        with running(project, "-p", PROMPT) as process:
            wait_for((project.root / "started").exists, "the session")
            for _ in range(2):
                process.send_signal(signal.SIGINT)
                time.sleep(0.3)  # two requests, not one
            asked = time.monotonic()
            _, err = process.communicate(timeout=60)
            took = time.monotonic() - asked
    assert took < 3 + 10, err  # the agent gets a moment to end; the receiver none of the three seconds


def test_a_killed_run_is_continued_in_its_trace(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([TELLS, {"touch": "started"}, {"sleep": 60}], [TELLS, {"say": DONE}])
    with receiving() as receiver:
        project.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.address
        with running(project, "-p", PROMPT) as process:
            wait_for((project.root / "started").exists, "the session")
            wait_for(lambda: bool(receiver.named("execute_tool Bash")), "its first tool to be sent")
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
        assert receiver.named(RUN) == receiver.named(SESSION) == [], "what did not end is not sent"
        project.ralph("resume", check=0)

    run = receiver.one(RUN)
    cut, whole = receiver.named(SESSION)
    assert {span.trace for span in receiver.spans} == {run.trace}
    assert told(project) == [as_parent(cut), as_parent(whole)]
    assert cut.is_error
    assert cut.attributes["error.type"] == "interrupted"
    assert not whole.is_error
    assert receiver.named("execute_tool Bash")[0].parent == cut.id
    assert [span.is_error for span in receiver.named("iteration")] == [True, False]
    assert run.start < cut.start
    assert "resumed" in run.events
    assert len({span.id for span in receiver.spans}) == len(receiver.spans)


def test_tasks_are_parts_of_their_work(project: Project) -> None:
    tasks = TaskProject(project)
    tasks.task()
    tasks.task("T-2")
    with receiving() as receiver:
        project.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.address
        tasks.work(check=0)

    (whole,) = [span for span in receiver.named(RUN) if not span.parent]
    parts = [span for span in receiver.named(RUN) if span.parent]
    assert {span.trace for span in receiver.spans} == {whole.trace}
    assert [span.parent for span in parts] == [whole.id] * 2
    by_id = {span.id: span for span in receiver.spans}
    sessions = receiver.named("invoke_agent worker")
    places = {(span.attributes["ralph.session.purpose"], by_id[span.parent].name) for span in sessions}
    assert places == {("iteration", "iteration"), ("verification", "check semantic")}
    assert len(sessions) == 4


def test_without_the_sdk_a_run_says_what_to_install(project: Project, tmp_path: Path) -> None:
    empty = tmp_path / "empty" / "opentelemetry"
    empty.mkdir(parents=True)
    (empty / "__init__.py").touch()
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    with receiving() as receiver:
        ran = project.ralph(
            *("run", "-p", PROMPT),
            check=0,
            PYTHONPATH=str(empty.parent),
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address,
        )
    assert ran.stderr.count("pip install 'ralph-harness[otel]'") == 1
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"OTEL_SDK_DISABLED": "true"}, ""),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "no telemetry is sent: OTEL_EXPORTER_OTLP_PROTOCOL is grpc",
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "nonsense"}, "no telemetry is sent: the OTLP endpoint is not"),
        ({"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere/ca.pem"}, None),
    ],
)
def test_variables_that_mean_nothing_can_be_sent(
    project: Project, variables: dict[str, str], said: str | None
) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    with receiving() as receiver:
        project.environment |= {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address, **variables}
        ran = project.ralph("run", "-p", PROMPT, check=0)
    if said is not None:
        assert receiver.requests == []
        assert said in ran.stderr
        assert said or "telemetry" not in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_address_that_is_none_is_an_error_of_the_settings(project: Project) -> None:
    project.settings(agent={"command": "claude"}, telemetry={"otlp": "localhost:4318"})
    ran = project.ralph("run", "-p", PROMPT, check=2)
    assert "telemetry.otlp" in ran.stderr
    assert "http://127.0.0.1:4318" in ran.stderr


def test_the_headers_of_a_receiver_appear_nowhere(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"run": 'echo "$OTEL_EXPORTER_OTLP_HEADERS"'}, {"say": DONE}])
    with receiving() as receiver:
        ran = project.ralph(
            *("run", "-p", PROMPT),
            check=0,
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address,
            OTEL_EXPORTER_OTLP_HEADERS="x-team=gooseberry-team,authorization=Bearer%20rhubarb-crumble",
        )
    assert receiver.headers[0]["authorization"] == "Bearer rhubarb-crumble"
    kept = b"".join(path.read_bytes() for path in (project.root / ".ralph").rglob("*") if path.is_file())
    for secret in ("rhubarb-crumble", "gooseberry-team"):
        assert secret not in ran.stderr + ran.stdout
        assert secret.encode() not in kept


@needs_bwrap
def test_an_agent_in_a_sandbox_knows_its_place_and_no_more(project: Project) -> None:
    project.settings(
        agent={"command": "claude"}, sandbox={"kind": "bwrap", "writable": [str(project.programs)]}
    )
    project.agent([TELLS, {"run": "env | grep ^OTEL_ > variables; true"}, {"say": DONE}])
    with receiving() as receiver:
        project.ralph(
            *("run", "-p", PROMPT),
            check=0,
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address,
            OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20rhubarb-crumble",
        )
    assert told(project) == [as_parent(receiver.one(SESSION))]
    assert (project.root / "variables").read_text() == ""


def test_a_run_without_telemetry_loads_none_of_it(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: open('loaded', 'w').write(' '.join(sys.modules)))\n"
        "from ralph.__main__ import main\n"
        "sys.exit(main())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "run", "-p", PROMPT],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    loaded = set((project.root / "loaded").read_text().split())
    assert "ralph.engine.loop" in loaded
    assert not [
        name for name in loaded if name.startswith(("opentelemetry", "google", "ralph.adapters.telemetry"))
    ]
    ours = {name for name in loaded if name.startswith("ralph.domain.telemetry.")}
    assert ours == {"ralph.domain.telemetry.destination"}


def test_what_a_session_does_is_sent_in_bounds(project: Project) -> None:
    """Far more tools than the queue takes, while the receiver hangs: the run ends as it would, and in its time."""
    tools = [
        {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "true"}}
        for number in range(5000)
    ]
    told = {"type": "assistant", "message": {"role": "assistant", "content": tools}}
    project.settings(agent={"command": "claude"})
    project.agent([{"print": json.dumps(told)}, {"say": DONE}])
    with receiving(hangs=True) as receiver:
        ran = project.ralph("run", "-p", PROMPT, check=0, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address)
    assert_one_warning(ran.stderr, "telemetry could not be sent")
