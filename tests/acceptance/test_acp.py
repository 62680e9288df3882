"""Any agent that speaks ACP, through ``ralph run``: the other side is made with the protocol's own SDK, or is hostile."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.security.test_sandboxed_run import needs_bwrap

from .conftest import DONE, PROMPT, Project

AGENTS = Path(__file__).parent / "acp_agents"
CANNOT_RUN, INTERRUPTED = 4, 130
LONG = 90.0


def command(behaviour: str, *, program: str = "sdk_agent.py") -> str:
    return shlex.join((sys.executable, str(AGENTS / program), behaviour))


def prepare(project: Project, behaviour: str, *, program: str = "sdk_agent.py", **own: Any) -> None:
    definition = {"adapter": "acp", "command": command(behaviour, program=program), **own}
    agent = {"command": "mine", "idleTimeout": 60}
    project.settings(agent=agent, agents={"mine": definition}, limits={"maxAttempts": 1})


def heard(project: Project) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((project.root / "heard.json").read_text())
    return read


def events(project: Project, kind: str) -> list[dict[str, Any]]:
    return [
        json.loads(data)
        for (data,) in project.rows(f"SELECT data FROM events WHERE kind='{kind}' ORDER BY seq")
    ]


def acted(project: Project, kind: str) -> list[dict[str, Any]]:
    return [one for event in events(project, "agent_acted") for one in event["events"] if one["kind"] == kind]


# --- with the SDK on the other side ------------------------------------------------------------------------


def test_a_whole_turn(project: Project) -> None:
    prepare(project, "works")

    ran = project.ralph("run", "-p", PROMPT, check=0)

    said = heard(project)
    assert (said["version"], said["fs"], said["terminal"]) == (1, False, False)
    assert (said["cwd"], said["servers"], said["prompt"]) == (str(project.root), 0, PROMPT)
    # Once is enough: what is allowed always may end up in the user's own settings.
    assert (said["mode"], said["chosen"]) == ("yolo", "once")
    assert (project.root / "a.txt").read_text() == "made\n"
    (session,) = events(project, "agent_ended")
    assert (session["tools"], session["tool_errors"], session["denials"]) == (1, 0, [])
    assert session["spend"]["usage"] == {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_tokens": 30,
        "cache_write_tokens": 0,
    }
    assert session["spend"]["cost_usd"] == 0.25
    assert [todo["items"][0]["status"] for todo in acted(project, "todo_changed")] == ["in_progress"]
    assert [tool["summary"] for tool in acted(project, "tool_started")] == ["Write a.txt"]
    assert "may run any command" in ran.stderr


@needs_bwrap
def test_a_whole_turn_in_a_sandbox(project: Project) -> None:
    shutil.copy(AGENTS / "sdk_agent.py", project.root)
    own = {"adapter": "acp", "command": shlex.join((sys.executable, "sdk_agent.py", "works"))}
    project.settings(agent={"command": "mine"}, agents={"mine": own})

    project.ralph("run", "-p", PROMPT, "--sandbox=bwrap", check=0)

    assert (project.root / "a.txt").read_text() == "made\n"


@pytest.mark.parametrize(("policy", "mode"), [("reads", "plan"), ("none", "default")])
def test_what_the_user_does_not_permit_is_denied_and_said(project: Project, policy: str, mode: str) -> None:
    prepare(project, "works", permissions=policy)

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert (heard(project)["mode"], heard(project)["chosen"]) == (mode, "no")
    assert not (project.root / "a.txt").exists()
    (session,) = events(project, "agent_ended")
    assert session["denials"] == ["edit"]
    assert "denied" in ran.stderr


def test_it_gets_no_files_and_terminals_from_ralph(project: Project) -> None:
    prepare(project, "asks-for-files")

    project.ralph("run", "-p", PROMPT, check=0)

    assert heard(project)["errors"] == [-32601, -32601]


def test_a_model_is_chosen_among_those_that_it_offers(project: Project) -> None:
    prepare(project, "models", model="large")

    project.ralph("run", "-p", PROMPT, check=0)

    assert heard(project)["model"] == "large"
    assert acted(project, "session_started")[0]["model"] == "large"


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("models", "agent.model: python3 does not offer huge; it offers small, large"),
        ("works", "agent.model: python3 offers no choice of models through ACP"),
    ],
)
def test_a_model_that_it_does_not_offer_ends_the_run_before_the_prompt(
    project: Project, behaviour: str, message: str
) -> None:
    prepare(project, behaviour, model="huge")

    ran = project.ralph("run", "-p", PROMPT, check=CANNOT_RUN)

    assert message.replace("python3", Path(sys.executable).name) in ran.stderr
    assert "prompt" not in heard(project)


def test_a_session_is_continued_if_it_can_be(project: Project) -> None:
    prepare(project, "resumes")
    (project.root / "nothing").touch()
    settings = json.loads((project.root / ".ralph" / "settings.json").read_text())
    settings["guardrails"] = [{"name": "twice", "command": "test -e seen || { touch seen; exit 1; }"}]
    project.settings(**settings)

    project.ralph("run", "-p", PROMPT, "-m", "2", "--continue-session", check=0)

    assert heard(project)["resumed"] == "s-1"


def test_a_session_that_cannot_be_continued_is_an_error_at_once(project: Project) -> None:
    prepare(project, "works")

    ran = project.ralph("run", "-p", PROMPT, "--continue-session", check=CANNOT_RUN)

    assert "agent.continueSession" in ran.stderr
    assert "prompt" not in heard(project)


@pytest.mark.parametrize(
    ("behaviour", "code", "kind", "message"),
    [
        ("no-login", CANNOT_RUN, "fatal", "offers: Use an API key"),
        ("newer", CANNOT_RUN, "fatal", "speaks version 99 of ACP, ralph speaks 1"),
        ("empty", CANNOT_RUN, "transient", "empty response"),
        ("refuses", CANNOT_RUN, "transient", "refused to continue"),
        ("voices-an-error", 5, "rate_limited", "429"),
        ("limited", 5, "rate_limited", "usageLimitExceeded"),
    ],
)
def test_what_goes_wrong_is_never_a_success(
    project: Project, behaviour: str, code: int, kind: str, message: str
) -> None:
    prepare(project, behaviour)

    ran = project.ralph("run", "-p", PROMPT, "--no-wait", check=code)

    (session,) = events(project, "agent_ended")
    assert session["fault"]["kind"] == kind, ran.stderr
    assert message in ran.stderr


def test_silence_past_the_idle_timeout_is_a_fault(project: Project) -> None:
    prepare(project, "silent")

    ran = project.ralph("run", "-p", PROMPT, "--idle-timeout", "15", check=CANNOT_RUN)

    (session,) = events(project, "agent_ended")
    assert (session["ending"], session["fault"]["kind"]) == ("idle", "transient")
    assert "silent past the idle timeout" in ran.stderr
    assert heard(project)["cancelled"] == "s-1"


def test_a_stop_is_told_before_any_signal(project: Project) -> None:
    prepare(project, "waits")
    process = subprocess.Popen(
        [sys.executable, "-m", "ralph", "run", "-p", PROMPT],
        cwd=project.root,
        env=project.env(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        _wait_for(project.root / "began")
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + LONG
        while not events(project, "stop_requested") and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONG)
    finally:
        process.kill()

    assert process.returncode == INTERRUPTED
    assert heard(project)["cancelled"] == "s-1"
    (session,) = events(project, "agent_ended")
    assert (session["ending"], session["exit_code"], session["fault"]) == ("stopped", 0, None)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + LONG
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.05)


# --- hostile -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "behaviour", ["noise", "answers-to-nothing", "huge-line", "flood", "ignores-the-end"]
)
def test_a_claim_is_heard_through_whatever_else_comes(project: Project, behaviour: str) -> None:
    prepare(project, behaviour, program="hostile_agent.py")

    ran = project.ralph("run", "-p", PROMPT, check=0)

    (session,) = events(project, "agent_ended")
    assert session["fault"] is None
    assert "--probe" not in ran.stderr  # nobody can point it at another model


@pytest.mark.parametrize("behaviour", ["late-claim", "claims-elsewhere"])
def test_a_claim_outside_the_assistants_answer_is_none(project: Project, behaviour: str) -> None:
    prepare(project, behaviour, program="hostile_agent.py")

    ran = project.ralph("run", "-p", PROMPT, "-m", "1", check=1)

    assert "maximum iterations" in ran.stderr


def test_a_greeting_is_not_the_answer(project: Project) -> None:
    prepare(project, "greets-with-a-claim", program="hostile_agent.py")

    project.ralph("run", "-p", PROMPT, check=0)

    (said,) = [notice["text"] for notice in acted(project, "notice")]
    assert said == f"Welcome! {DONE}"
    assert "".join(text["text"] for text in acted(project, "text")) == DONE


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        ("exits", "transient", "exit status 7"),
        ("exits-as-if-well", "transient", "ended before it answered session/prompt"),
        ("prints-help", "fatal", "does not seem to speak ACP"),
        ("never-answers", "transient", "silent past the idle timeout"),
    ],
)
def test_an_end_without_an_answer_is_a_fault(
    project: Project, behaviour: str, kind: str, message: str
) -> None:
    prepare(project, behaviour, program="hostile_agent.py")

    ran = project.ralph("run", "-p", PROMPT, "--idle-timeout", "15", check=CANNOT_RUN)

    (session,) = events(project, "agent_ended")
    assert session["fault"]["kind"] == kind, ran.stderr
    assert message in ran.stderr


# --- how it is named ---------------------------------------------------------------------------------------


def test_a_known_program_is_used_by_its_name(project: Project) -> None:
    project.program("goose", f'printf "%s\\n" "$@" > arguments; exec {command("works")}\n')

    ran = project.ralph("run", "-p", PROMPT, "--agent", "goose", check=0)

    assert (project.root / "arguments").read_text().split() == ["acp"]
    assert "agent goose" in ran.stderr


def test_flags_of_the_users_own_keep_a_known_program_what_it_was(project: Project) -> None:
    project.program("goose", f'cat > asked; echo "$1 {DONE}"\n')
    project.settings(agent={"command": "goose", "flags": ["run"]})

    project.ralph("run", "-p", PROMPT, check=0)

    assert (project.root / "asked").read_text() == PROMPT


@pytest.mark.parametrize(
    ("agent", "message", "hint"),
    [
        ("acp", "acp is a protocol, not a program", '"adapter": "acp"'),
        ("goose", "agent not found: goose", "block.github.io/goose"),
        ("goose acp", "agent not found: goose acp", "--agent goose"),
        ("no-such-agent", "agent not found: no-such-agent", "goose"),
    ],
)
def test_a_program_that_is_not_there_is_an_error_that_helps(
    project: Project, agent: str, message: str, hint: str
) -> None:
    ran = project.ralph("run", "-p", PROMPT, "--agent", agent, check=CANNOT_RUN)

    assert message in ran.stderr
    assert hint in " ".join(ran.stderr.split())


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"adapter": "acp", "command": "goose 'acp"}, "cannot be split"),
        (
            {"adapter": "acp", "command": "goose acp", "prompt": "argument"},
            "has an adapter as well as a prompt",
        ),
        (
            {"adapter": "claude", "command": "claude", "permissions": "none"},
            "has permissions, but not the adapter",
        ),
        ({"adapter": "acp", "command": "goose acp", "permissions": "some"}, "permissions"),
        ({"command": "goose", "output": "acp"}, "output"),
    ],
)
def test_a_bad_definition_is_refused(project: Project, definition: dict[str, Any], message: str) -> None:
    project.settings(agent={"command": "mine"}, agents={"mine": definition})

    ran = project.ralph("run", "-p", PROMPT)

    assert ran.returncode == 2, ran.stderr
    assert message in ran.stderr


def test_the_doctor_names_those_that_are_installed(project: Project) -> None:
    project.program("goose", "exit 0\n")
    prepare(project, "works")

    found = json.loads(project.ralph("doctor", "--json").stdout)

    agents = {finding["name"]: finding for finding in found["findings"] if finding["area"] == "agents"}
    assert agents["goose"]["health"] == "good"
    assert agents["mine"]["health"] == "good"
    assert "kimi" not in agents
